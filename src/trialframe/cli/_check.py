"""The commands check and doctor."""

from __future__ import annotations

import json

import polars as pl

from trialframe.audit import check_trials
from trialframe.cli import _options as opt
from trialframe.cli._advice import as_options
from trialframe.cli._output import Output
from trialframe.cli._trials import Reading, for_rules
from trialframe.doctor import doctor as examine
from trialframe.errors import ArgumentError


@opt.takes_options
def check(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
) -> int:
    """List what is wrong with a table of trials; exit 1 when numbers made from it are wrong."""
    from trialframe.report import text

    source, named = for_rules(files, columns, trials)
    found = check_trials(source, **named)
    advice = pl.Series("advice", [as_options(line) for line in found["advice"]], pl.String)
    told = found.with_columns(advice)
    out.write(
        found,
        table=lambda console: text.print_findings(console, told),
        markdown=lambda: text.markdown_frame(told),
    )
    return int("error" in found["severity"])


@opt.takes_options
def doctor(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
) -> int:
    """Say what each column is taken for, what the table is enough for and what is wrong."""
    if out.kind not in {"table", "md", "json"}:
        raise ArgumentError(f"format == {out.kind!r}: doctor writes table, md or json.")
    source, named = for_rules(files, columns, trials)
    made = examine(source, **named)
    told = as_options(made.text())
    texts = {
        "table": f"{told}\n",
        "md": f"```text\n{told}\n```\n",
        "json": json.dumps(made.to_dict(), indent=1, ensure_ascii=False, default=str) + "\n",
    }
    out.write_bytes(texts[out.kind].encode())
    return 0
