"""Is this table of trials fit to support a claim? Findings, not exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from trialframe import _checks
from trialframe.audit._audit import answers, audit_frame, pair_of
from trialframe.audit._evidence import MORE, Named, audited
from trialframe.audit._inspect import Finding, findings_frame, inspect
from trialframe.audit._rules import problems

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    import polars as pl

    from trialframe.read._fields import Columns

__all__ = ["audit", "check_trials"]


def check_trials(
    trials: Any,
    *,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """List what is wrong with a table of trials, and what to do about it.

    It reports where `tr.read` and `tr.counts` would raise, and also what they cannot see.
    It holds the columns it needs in memory, so do not use it on a table beyond memory:
    check a part of that.

    Args:
        trials: A source as in `tr.read`: files or a table in memory.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        **columns: Where each canonical column is, as in `tr.read`.

    Returns:
        One row per finding, errors first: `rule`, `severity` ("error" when numbers made from
        the table would be wrong or cannot be made, "warning" when it depends), `rows` that
        are concerned, `examples`, `advice`. No row means that nothing was found.

    Raises:
        SourceError: There is no table to check: a file is missing, empty or corrupt.

    Notes:
        Runs of one config count as copies when all their rows agree in case, verdict, score
        and measures, and something in them tells real runs apart: five or more different
        durations or start times (error), token counts or costs (warning: a deterministic
        system may repeat them), or at least 50 cases with 10 or more of either verdict
        (warning). Runs that agree by chance on a few cases are not reported. Of rows that
        share a key, `rows` counts those beyond the first of each key, as `tr.counts` does.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x"], "trial": [1, 1], "passed": [True, False]}
        >>> tr.check_trials(rows).select("rule", "rows", "examples").rows()
        [('duplicate_key', 1, "case 'x' trial 1: 2 rows")]
    """
    inspection = inspect(trials, threshold=threshold, columns=columns)
    if isinstance(inspection, Finding):
        return findings_frame([inspection])
    return problems(inspection)


def audit(
    trials: Any,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    annotations: Any = None,
    public: str | None = None,
    source_date: str | None = None,
    release_date: str | Mapping[str, Any] | None = None,
    show: Literal["findings", "all"] = "findings",
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """Audit a table of trials before a claim is made from it.

    It holds all that `check_trials` finds and looks further: are these independent rollouts,
    on cases that tell systems apart, were not seen before and are judged rightly? It holds the
    columns it needs in memory, so do not use it on a table beyond memory, and do not read the
    absence of findings as proof: `not_checked` names what could not be looked at.

    Args:
        trials: A source as in `tr.read`: files or a table in memory.
        baseline: Audit the comparison of this config
        candidate: with this one only. Without both, all configs.
        annotations: A table with a row a case, found by the case column of the trials or a
            usual name of it: `false_negative`, `underspecified`, `other_major_issues` (0 to 3,
            2 and more severe, or true and false), `filter_out`, `public`, `source_date`.
        public: Column that says whether the source of a case is public. Found as `public`.
        source_date: Column with the day from which it was. Found as `source_date`, `created_at`.
        release_date: Column with the release day of a config, or config -> day. Found as
            `release_date`; when it varies within a config, it dates the cases.
        show: "findings", or "all" for a row a rule that could not be tried, with the reason.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        **columns: Where each canonical column is, as in `tr.read`.

    Returns:
        One row a rule that found something, errors first: `rule`, `severity` ("error": numbers
        made from the table are wrong; "warning": a claim from it may be; "info"), `rows` that
        are concerned, `examples`, `remedy`. The row `not_checked` names rules that lack what
        they look at; with show="all" each has a row, "info" with no rows.

    Raises:
        SourceError: There is no table: a file is missing, empty or corrupt.
        ColumnError: A column that is named does not exist.
        UnknownConfigError: A config that is named does not exist.
        TrialsError: A date that is named cannot be read.

    Notes:
        `dependent_trials` tests whether trials of a case that share a context (or a seed) agree
        more often than those that do not: an exact permutation of verdicts within every config
        and case, one-sided, p < .01 shared over both columns; at most 20 trials of a case are
        looked at. `no_separation` is Cochran's Q on rates with cases (or clusters) as blocks;
        "info" when only the best configs are not told apart (t with Bonferroni). Attempts after
        the first are left out where trials have to be independent.

    References:
        Cochran (1950), Biometrika 37:256.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": [f"case_{i:02}" for i in range(20)] * 2, "passed": [True, False] * 20}
        >>> found = tr.audit({**rows, "context": ["box"] * 40, "image": ["v1"] * 40})
        >>> found.filter(severity="warning").select("rule", "rows").rows()
        [('few_rollouts', 40), ('shared_context', 40), ('context_across_cases', 40)]
        >>> "shared_seed" in found.filter(rule="not_checked")["examples"].item()
        True
    """
    _checks.one_of(show, "show", ("findings", "all"))
    given = Named(public=public, source_date=source_date, release_date=release_date)
    more = MORE | given.columns()
    table = inspect(trials, threshold=threshold, columns=columns, more=more)
    if isinstance(table, Finding):
        return audit_frame([table])
    configs = table.trials["config"].drop_nulls().unique().sort().to_list()
    pair = pair_of(baseline, candidate, configs)
    if pair is not None:
        table = table.only(pair)
    return answers(audited(table, annotations, given), show)
