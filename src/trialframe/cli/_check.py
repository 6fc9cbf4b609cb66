"""The commands check and doctor."""

from __future__ import annotations

import json

import polars as pl

from trialframe.audit import check_trials
from trialframe.cli import _options as opt
from trialframe.cli._output import output_of
from trialframe.doctor import doctor as examine
from trialframe.errors import ArgumentError


@opt.takes_columns
def check(
    files: opt.Files,
    *,
    columns: opt.Columns,
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """List what is wrong with a table of trials; exit 1 when numbers made from it are wrong."""
    from trialframe.report import text

    out = output_of(format_, output)
    found = check_trials(files, threshold=columns.threshold, **columns.arguments())
    advice = pl.Series("advice", [opt.as_options(line) for line in found["advice"]], pl.String)
    told = found.with_columns(advice)
    out.write(
        found,
        table=lambda console: text.print_findings(console, told),
        markdown=lambda: text.markdown_frame(told),
    )
    return int("error" in found["severity"])


@opt.takes_columns
def doctor(
    files: opt.Files,
    *,
    columns: opt.Columns,
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Say what each column is taken for, what the table is enough for and what is wrong."""
    out = output_of(format_, output)
    if out.kind not in {"table", "md", "json"}:
        raise ArgumentError(f"format == {out.kind!r}: doctor writes table, md or json.")
    made = examine(files, threshold=columns.threshold, **columns.arguments())
    told = opt.as_options(made.text())
    texts = {
        "table": f"{told}\n",
        "md": f"```text\n{told}\n```\n",
        "json": json.dumps(made.to_dict(), indent=1, ensure_ascii=False, default=str) + "\n",
    }
    out.write_bytes(texts[out.kind].encode())
    return 0
