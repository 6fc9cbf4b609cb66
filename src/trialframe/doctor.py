"""What a table holds and what it is enough for, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.audit._inspect import Finding, Inspection, findings_frame, inspect
from trialframe.audit._rules import problems
from trialframe.read._load import load
from trialframe.read.tables import SPENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from trialframe.read._fields import Columns

DRAWS = (1, 2, 5, 10)
"""The k of pass@k and pass^k that are reported on."""

REPEATS = 2
"""Trials of a case from which their spread can be seen; also units of an interval."""

LABELS = 20
"""Labelled trials from which a judge can be calibrated at all."""

WORDS = {
    "tokens_in": "tokens sent per trial",
    "tokens_out": "tokens written per trial",
    "cost_uusd": "cost per trial and per solved case",
    "duration_ms": "duration per trial",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Doctor:
    """What `doctor` found; prints as text.

    Attributes:
        mapping: What each column is taken for: `column, source, how, note`.
        shape: Facts about the table: `fact, value`.
        possible: What the data is enough for: `capability, available, missing`.
        problems: What is wrong, as `check_trials` lists it.
    """

    mapping: pl.DataFrame
    shape: pl.DataFrame
    possible: pl.DataFrame
    problems: pl.DataFrame

    @property
    def healthy(self) -> bool:
        """Whether no finding is an error."""
        return "error" not in self.problems["severity"]

    def to_dict(self) -> dict[str, Any]:
        """Every frame as a list of rows, and `healthy`; only plain Python values."""
        frames = {
            name: getattr(self, name) for name in ("mapping", "shape", "possible", "problems")
        }
        return {name: frame.to_dicts() for name, frame in frames.items()} | {
            "healthy": self.healthy
        }

    def text(self) -> str:
        """The whole report as text."""
        columns = [
            f"  {column or '-'} <- {source} ({how}){': ' + note if note else ''}"
            for column, source, how, note in self.mapping.rows()
        ]
        facts = [
            f"  {fact}: {'unknown' if value is None else format(value, ',.10g')}"
            for fact, value in self.shape.rows()
        ]
        can = [
            f"  {'yes' if available else 'no '} {capability}{': ' + missing if missing else ''}"
            for capability, available, missing in self.possible.rows()
        ]
        wrong = [
            f"  {severity} {rule} ({rows:,} rows){': ' + some if some else ''}\n    {advice}"
            for rule, severity, rows, some, advice in self.problems.rows()
        ]
        parts = {"Columns": columns, "Shape": facts, "Data is there for": can, "Problems": wrong}
        return "\n".join(
            line for title, lines in parts.items() for line in (title, *(lines or ["  none"]))
        )

    def __repr__(self) -> str:
        """The report as text."""
        return self.text()


def doctor(
    table: Any,
    *,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> Doctor:
    """Look at a table before computing anything: columns, shape, what is possible, what is wrong.

    It says whether the data for a method is there, not whether the method is the right one:
    do not use it in place of reading the warnings of a result.

    Args:
        table: A source as in `tr.read`: files or a table in memory.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        **columns: Where each canonical column is, as in `tr.read`.

    Returns:
        Four frames that print as text. When the columns cannot be resolved, `shape` and
        `possible` are empty and `problems` says why. Sequential attempts are no trials of
        their own: `shape` and `possible` look at first attempts, the smallest number of each
        config, and `shape` says how many later ones they leave out.

    Raises:
        SourceError: There is no table: a file is missing, empty or corrupt.

    Examples:
        >>> import trialframe as tr
        >>> seen = tr.doctor({"model": ["a"] * 3, "task": ["x", "x", "y"], "passed": [True] * 3})
        >>> seen.possible.filter(capability="pass@2 and pass^2")["missing"].item()
        '1 more trial in 1 of 2 config-case pairs'
    """
    data = inspect(table, threshold=threshold, columns=columns)
    if isinstance(data, Finding):
        schema = load(table).frame.collect_schema()
        rows = [("", name, "unresolved", str(dtype)) for name, dtype in schema.items()]
        names = ["column", "source", "how", "note"]
        return Doctor(
            mapping=pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"),
            shape=_shape({}),
            possible=_possible([]),
            problems=findings_frame([data]),
        )
    first = data.first_attempts()
    return Doctor(
        mapping=data.plan.frame(),
        shape=_shape(_facts(first, later=data.trials.height - first.trials.height)),
        possible=_possible([*_draws(first), *_intervals(first), *_measures(first), *_pairs(first)]),
        problems=problems(data),
    )


def _shape(facts: dict[str, float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        list(facts.items()), schema={"fact": pl.String, "value": pl.Float64}, orient="row"
    )


def _possible(rows: list[tuple[str, bool, str]]) -> pl.DataFrame:
    schema = {"capability": pl.String, "available": pl.Boolean, "missing": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _facts(data: Inspection, later: int) -> dict[str, float | None]:
    """Facts of first attempts; `later` attempts are left out of all but the number of rows."""
    cells = data.cells
    size = cells["n"]
    labels = data.trials["label"].count() if "label" in data.trials else 0
    clusters = data.trials["cluster"].drop_nulls().n_unique() if data.has("cluster") else None
    left_out = {"later attempts, left out of what follows": later} if later else {}
    known: dict[str, Any] = {
        "rows": data.trials.height + later,
        **left_out,
        "configs": cells["config"].n_unique(),
        "cases": cells["case"].n_unique(),
        "config-case pairs": cells.height,
        "scored trials per pair, min": size.min(),
        "scored trials per pair, median": size.median(),
        "scored trials per pair, max": size.max(),
        "scored trials": size.sum(),
        "passes": cells["c"].sum(),
        "unscored trials": cells["unscored"].sum(),
        "clusters": clusters,
        "human labels": labels,
    }
    return known


def _draws(data: Inspection) -> Iterator[tuple[str, bool, str]]:
    """Metrics of k trials, and those that need the spread between trials."""
    cells = data.cells
    for k in DRAWS:
        yield f"pass@{k} and pass^{k}", bool((cells["n"] >= k).any()), _short_of(cells, k)
    repeated = cells["n"] >= REPEATS
    yield "flakiness", bool(repeated.any()), _short_of(cells, REPEATS)
    yield (
        "estimand suite (these cases, trial noise only)",
        bool(cells.height) and bool(repeated.all()),
        _short_of(cells, REPEATS),
    )


def _short_of(cells: pl.DataFrame, k: int) -> str:
    lacking = cells.filter(pl.col("n") < k)
    if lacking.is_empty():
        return "" if cells.height else "no rows"
    need = int(lacking.select((k - pl.col("n")).max()).item())
    few = "up to " if lacking["n"].n_unique() > 1 else ""
    trials = "trial" if need == 1 else "trials"
    return f"{few}{need} more {trials} in {lacking.height:,} of {cells.height:,} config-case pairs"


def _intervals(data: Inspection) -> Iterator[tuple[str, bool, str]]:
    """What a standard error can be made of."""
    cases = data.cells.filter(pl.col("n") > 0)["case"].n_unique()
    yield (
        "estimand cases (tasks like these)",
        cases >= REPEATS,
        "" if cases >= REPEATS else f"needs {REPEATS} cases with a verdict; has {cases}",
    )
    if not data.has("cluster"):
        yield "cluster-robust interval", False, _absent(data, "cluster")
        return
    clusters = data.trials["cluster"].drop_nulls().n_unique()
    enough = clusters >= REPEATS
    yield "cluster-robust interval", enough, "" if enough else "needs 2 clusters; has 1"


def _absent(data: Inspection, name: str) -> str:
    """Why a column is no use."""
    found = next((item for item in data.plan.fields if item.name == name), None)
    if found is None:
        return f"no {name} column"
    return f"column {name} is empty" if found.usable else found.note


def _measures(data: Inspection) -> Iterator[tuple[str, bool, str]]:
    """What is told beside the verdict."""
    for name in SPENT:
        there = data.has(name) or f"{name}_sum" in data.plan.unused
        yield WORDS[name], there, "" if there else _absent(data, name)
    lacking = [name for name in ("tests_passed", "tests_total") if not data.has(name)]
    yield "share of tests passed", not lacking, _absent(data, lacking[0]) if lacking else ""
    graded = data.has("score")
    yield "mean score", graded, "" if graded else _absent(data, "score")
    outcome = data.plan.get("outcome") is not None
    yield "shares by outcome class", outcome, "" if outcome else _absent(data, "outcome")
    checked = data.has("secure") or "c_secure" in data.plan.unused
    yield "security-adjusted rates", checked, "" if checked else _absent(data, "secure")
    tries = data.has("attempt")
    yield "solved by attempt k (sequential)", tries, "" if tries else _absent(data, "attempt")
    timed = data.has("started_at")
    yield "interleaving and drift", timed, "" if timed else _absent(data, "started_at")


def _pairs(data: Inspection) -> Iterator[tuple[str, bool, str]]:
    """Comparison of configs, and of a judge with people."""
    scored = data.cells.filter(pl.col("n") > 0)
    configs = scored["config"].n_unique()
    held = scored.group_by("case").len("held")["held"]
    shared, common = int((held > 1).sum()), int((held == configs).sum())
    told = f"shared {shared:,}"
    if shared and configs > REPEATS:
        told = f"{shared:,} cases in two configs or more, {common:,} in all {configs}"
    needs = "" if shared else "needs two configs sharing cases; "
    yield "paired comparison", shared > 0, needs + told
    ties = scored.filter(2 * pl.col("c") == pl.col("n")).height
    tied = f"{ties:,} of {scored.height:,} config-case pairs tie (c = n/2), not a pass"
    yield (
        "McNemar on majority outcomes",
        shared > 0,
        (tied if ties else "") if shared else needs + told,
    )
    yield "judge calibration", *_labels(data)


def _labels(data: Inspection) -> tuple[bool, str]:
    for name in ("judge", "label"):
        if name not in data.trials:
            return False, f"needs {LABELS} labels with both classes; {_absent(data, name)}"
    both = data.trials.select("judge", "label").drop_nulls()
    yes = int(both["label"].sum())
    if both.height >= LABELS and 0 < yes < both.height:
        return True, f"{both.height:,} labels, {yes:,} passed"
    return False, f"needs {LABELS} labels with both classes; has {both.height}, {yes} passed"
