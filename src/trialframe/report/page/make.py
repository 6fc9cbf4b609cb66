"""A report on trials or counts, as a web page or as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trialframe import _checks
from trialframe._optional import require
from trialframe.audit import audit
from trialframe.counts import Counts
from trialframe.counts import counts as count
from trialframe.errors import ArgumentError, short
from trialframe.read import read
from trialframe.read._frames import to_lazy
from trialframe.report.formats import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from trialframe.counts import Policy
    from trialframe.reliability._table import Where
    from trialframe.report.page.model import Page

FORMATS = ("html", "md")
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}
TITLE = "Evaluation report"


def format_of(word: str | None, path: str | Path | None) -> str:
    """The format that was asked for, or the one that the file's ending says; without both html.

    Raises:
        ArgumentError: A format that does not exist, or an ending that says none.
    """
    if word is not None:
        return _checks.one_of(word, "format", FORMATS)
    if path is None:
        return "html"
    if not isinstance(path, str | Path):
        raise ArgumentError(f"path == {short(path)}, must be the name of a file.")
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ArgumentError(
            f"cannot tell the format of {short(str(path))}: let it end in .html or .md, or give "
            'format="html".'
        )
    return ENDINGS[ending]


def report(
    trials: Any,
    path: str | Path | None = None,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    metric: str = "pass@1",
    by: str | Sequence[str] = (),
    gate: Literal["none", "decide"] = "none",
    title: str | None = None,
    format: Literal["html", "md"] | None = None,
    adjust: str = "holm",
    level: float = 0.95,
    units: str = "clusters",
    resamples: int = 10_000,
    seed: int = 0,
    unscored: Policy | Mapping[str, Policy] = "exclude",
    keep: Literal["raise", "first", "last", "all"] = "raise",
    attempts: Literal["raise", "first"] = "raise",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> str:
    r"""Write one report on an evaluation: verdicts in words first, then what they rest on.

    The page is one file that asks nothing of any network: leaderboard, comparison with a
    baseline, groups, cases that changed, flaky cases, all metrics, findings of the audit, methods
    and settings, with charts, tables to sort and filter, and every table unrounded as CSV.
    Markdown says the same in short, for pull requests. Do not use it on trials beyond memory:
    count them first and hand over the counts, which are not audited; neither are trials that
    stay on an engine (DuckDB, Spark, Ibis).

    Args:
        trials: Trials of any kind that `tr.counts` takes, files as in `tr.read`, or `Counts`.
        path: File to write, complete or not at all; None only returns the text.
        baseline: Config that others are compared with; None compares none.
        candidate: The one config to compare with it; None for all others. With one other config
            that is the candidate.
        metric: A metric with one value per case, as in `tr.leaderboard`.
        by: Case-level columns to group by.
        gate: "decide" adds whether to ship the candidate, as `tr.gate` does; "none".
        title: Heading; None for "Evaluation report".
        format: "html" or "md"; None for what the path ends in, and a web page without a path.
        adjust: How p-values are adjusted for the number of configs: "holm", "max-t", "bh", "none".
        level: Nominal coverage, in (0, 1); tests are at 1 - level.
        units: "clusters" when there are some, or "cases".
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of everything random; the same trials give the same report, byte by byte.
        unscored: What a trial without a verdict is, as in `tr.counts`.
        keep: What to do with repeated rows, as in `tr.counts`.
        attempts: "first" leaves later attempts out, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where canonical columns are, as in `tr.counts`; map others with `tr.read`.

    Returns:
        The text of the page or the Markdown.

    Raises:
        UnknownConfigError: Baseline or candidate is not in the trials.
        ArgumentError: Options that do not exist or do not go together.
        TrialsError: No rows, or rows that break the contract of trials.
        OSError: The file cannot be written.
        ImportError: A web page without the extra "report"; Markdown needs none.

    Notes:
        Configs are compared with the baseline only, never all pairs. Where configs share no case
        the report says so in place of a leaderboard. Text from the data is never taken for
        markup, and a character that cannot be seen is written out. CSV holds values as they are:
        a spreadsheet may take text that starts with =, +, - or @ for a formula.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.12, seed=3)
        >>> text = tr.report(trials, baseline="base", title="Nightly", format="md")
        >>> for line in text.splitlines()[:5]:
        ...     print(line[:56])
        ## Nightly
        <BLANKLINE>
        2 configs, 120 cases, 1,200 scored trials
        <BLANKLINE>
        - **Better**: new against base: +0.1233 in pass@1 \[+0.0
    """
    from trialframe.report.page.content import Asked, page_of

    kind = format_of(format, path)
    needed(kind)
    asked = Asked.checked(
        title=TITLE if title is None else title,
        sources=_sources(trials),
        metric=metric,
        baseline=baseline,
        candidate=candidate,
        by=_checks.names(by, "by"),
        gate=gate,
        adjust=adjust,
        level=level,
        units=units,
        resamples=resamples,
        seed=seed,
    )
    if isinstance(trials, Counts):
        if columns or threshold is not None:
            given = ", ".join([*columns, *(["threshold"] if threshold is not None else [])])
            raise ArgumentError(f"{given}: counts are made already. Give these to tr.counts.")
        made = page_of(trials, asked, None)
    else:
        table = read(trials) if asked.sources else trials
        found = count(
            table,
            by=asked.by,
            unscored=unscored,
            keep=keep,
            attempts=attempts,
            threshold=threshold,
            **columns,
        )
        counted = found.mapping is not None and "n" in found.mapping["column"].to_list()
        elsewhere = to_lazy(table) is None  # on an engine of its own, which only counts there
        audited = not counted and not elsewhere
        findings = audit(table, threshold=threshold, **columns) if audited else None
        made = page_of(found, asked, findings)
    text = rendered(made, kind)
    if path is not None:
        with replacing(Path(path)) as file:
            file.write(text.encode())
    return text


def needed(kind: str) -> None:
    """See that a format can be made before anything is computed for it.

    Raises:
        ImportError: The extra "report" is not installed.
    """
    if kind == "html":
        for module in ("jinja2", "altair", "vl_convert"):
            require(module, extra="report", purpose="reports as web pages")


def rendered(page: Page, kind: str) -> str:
    """A report in a format.

    Args:
        page: What it says.
        kind: One of `FORMATS`.
    """
    if kind == "html":
        from trialframe.report.page.html import html

        return html(page)
    from trialframe.report.page.markdown import markdown

    return markdown(page)


def _sources(trials: object) -> tuple[str, ...]:
    """Names of files, where that is what was given."""
    if isinstance(trials, str | Path):
        return (str(trials),)
    if isinstance(trials, list | tuple) and trials:
        names = tuple(str(item) for item in trials if isinstance(item, str | Path))
        return names if len(names) == len(trials) else ()
    return ()
