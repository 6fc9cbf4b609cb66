"""The contracts of the tables that leave for a warehouse: long, versioned, one row a statement.

A version reads "major.minor". A minor version adds nullable columns and nothing else, so that a
table of an older minor version can be brought up to date where it lies. Columns that not every
suite has are in one text column, `groups` or `attributes`, as a JSON object with sorted names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from trialframe.schema import COMPARISONS, LEADERBOARD, MEASURES, SUMMARY, Column

INSTANT = pl.Datetime("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the warehouse.

    Attributes:
        name: Its name where nobody gives another.
        version: "major.minor" of the contract.
        meaning: What a row is, in one line.
        columns: Every column in order, those of the key first.
    """

    name: str
    version: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that tell the rows of a run apart."""
        return tuple(column.name for column in self.columns if column.key)

    @property
    def schema(self) -> pl.Schema:
        """Names and types of all columns."""
        return pl.Schema({column.name: column.dtype for column in self.columns})


def _text(name: str, meaning: str, *, nullable: bool = True) -> Column:
    return Column(name=name, dtype=pl.String, meaning=meaning, nullable=nullable)


def _key(name: str, meaning: str) -> Column:
    return Column(name=name, dtype=pl.String, meaning=meaning, nullable=False, key=True)


def _whole(name: str, meaning: str, unit: str = "", *, nullable: bool = True) -> Column:
    return Column(name=name, dtype=pl.Int64, meaning=meaning, unit=unit, nullable=nullable)


def _real(name: str, meaning: str, unit: str = "") -> Column:
    return Column(name=name, dtype=pl.Float64, meaning=meaning, unit=unit)


SUITE = _key("suite", "what was evaluated, as the exporting job calls it")
SOURCE = _key("source", "which function made the row")
GROUPS = _key("groups", "values of the columns that rows are grouped by, a JSON object")
DETAILS = _text("details", "everything else that the result holds, a JSON object")

STAMPS: tuple[Column, ...] = (
    _text("schema_version", "version of this table's contract, major.minor", nullable=False),
    _text("run_id", "the export that wrote the row", nullable=False),
    Column(
        name="created_at",
        dtype=INSTANT,
        unit="UTC, microseconds",
        nullable=False,
        meaning="when it was exported",
    ),
    _text("package_version", "version of trialframe", nullable=False),
    _text("settings_hash", "SHA-256 of settings", nullable=False),
    _text("settings", "what the result was made with, a JSON object", nullable=False),
)
"""Columns that every table ends with."""


def _others(columns: tuple[Column, ...], key: tuple[Column, ...]) -> tuple[Column, ...]:
    """Columns that are no part of the key, all nullable: not every function fills them."""
    named = {column.name for column in key}
    return tuple(
        replace(column, key=False, nullable=column.name != "verdict", aliases={})
        for column in columns
        if column.name not in named
    )


def _measure_sums() -> tuple[Column, ...]:
    units = {"cost_uusd": "micro-dollars", "duration_ms": "milliseconds"}
    units |= {"tokens_in": "tokens", "tokens_out": "tokens"}
    made: list[Column] = []
    for name in MEASURES:
        unit = units.get(name, "")
        total = _real if name in {"score", "tests_share"} else _whole
        squared = f"{unit} squared" if unit else ""
        made += [
            _whole(f"{name}_n", f"scored trials with {name}", "trials"),
            total(f"{name}_sum", f"sum of {name}", unit),
            _real(f"{name}_sumsq", f"sum of squares of {name}", squared),
        ]
    return tuple(made)


_OF_COUNTS = (SUITE, _key("config", "system under test"), _key("case", "the task"))
_OF_ESTIMATES = (
    SUITE,
    SOURCE,
    _key("config", "system under test"),
    GROUPS,
    _key("metric", "what is estimated"),
    _key("estimand", "cases: tasks like these; suite: these tasks; runs: whole runs"),
)
_OF_COMPARISONS = (
    SUITE,
    SOURCE,
    _key("baseline", "compared with"),
    _key("candidate", "compared"),
    _key("metric", "what is compared"),
    GROUPS,
)

COUNTS = Table(
    name="counts",
    version="1.0",
    meaning="scored trials and passes of a config on a case",
    columns=(
        *_OF_COUNTS,
        _text("cluster", "group of dependent cases"),
        _real("weight", "weight of the case"),
        _text("attributes", "case-level columns that were kept, a JSON object", nullable=False),
        _whole("n", "scored trials", "trials", nullable=False),
        _whole("c", "scored trials that passed", "trials", nullable=False),
        _whole("unscored", "trials without a verdict, left out of n", "trials", nullable=False),
        _whole("unscored_failed", "trials without a verdict, in n as failures", "trials"),
        _whole("c_secure", "passes without a high-severity security finding", "trials"),
        *_measure_sums(),
        *STAMPS,
    ),
)
ESTIMATES = Table(
    name="estimates",
    version="1.0",
    meaning="a metric of a config with its interval",
    columns=(
        *_OF_ESTIMATES,
        *_others(SUMMARY, _OF_ESTIMATES),
        *_others(LEADERBOARD, (*_OF_ESTIMATES, *SUMMARY)),
        *STAMPS,
    ),
)
COMPARED = Table(
    name="comparisons",
    version="1.0",
    meaning="candidate minus baseline, of the suite, a group or a case",
    columns=(
        *_OF_COMPARISONS,
        *_others(COMPARISONS, _OF_COMPARISONS),
        _text("test", "how the p-value was computed"),
        _text("status", "resolved, or what stands in the way"),
        _text("claim", "one sentence that the numbers support"),
        DETAILS,
        *STAMPS,
    ),
)
DECISIONS = Table(
    name="decisions",
    version="1.0",
    meaning="a verdict on a candidate: of a gate, a policy, or one of its rules",
    columns=(
        SUITE,
        SOURCE,
        _key("baseline", "compared with"),
        _key("candidate", "compared"),
        _key("rule", "gate, policy, or rule:NAME"),
        _text("verdict", "ship, hold, dont_ship; of a rule pass, fail, undecided", nullable=False),
        _text("tier", "how much the rule weighs"),
        _text("metric", "what the rule looks at"),
        _real("observed", "the value that was held against the limit"),
        _real("limit_value", "the limit of the rule"),
        _text("headline", "one line with what decided"),
        _text("claim", "one sentence, no stronger than the verdict"),
        _text("reasons", "every condition and how it came out, a JSON list"),
        _text("warnings", "what weakens the decision"),
        _whole("exit_code", "0 ship, 1 hold or don't ship"),
        _whole("cases", "shared cases", "cases"),
        _whole("wins", "cases that only the candidate passes", "cases"),
        _whole("losses", "cases that only the baseline passes", "cases"),
        _whole("ties", "cases where both do the same", "cases"),
        _whole("solved", "cases that the baseline passes", "cases"),
        _real("net_gain", "wins - break_cost losses", "cases"),
        _real("breakage", "losses / solved"),
        _real("pvalue", "one-sided test of the net gain"),
        _real("p_losses", "one-sided test of the losses"),
        _real("p_clusters", "one-sided sign flip of whole clusters"),
        DETAILS,
        *STAMPS,
    ),
)
ITEMS = Table(
    name="items",
    version="1.0",
    meaning="difficulty and discrimination of a case",
    columns=(
        SUITE,
        _key("model", "1pl, 2pl or hierarchical"),
        _key("case", "the task"),
        _text("cluster", "group of dependent cases"),
        _text("method", "mml or pymc"),
        _real("a", "discrimination"),
        _real("a_se", "its standard error"),
        _real("b", "difficulty", "standard deviations of ability"),
        _real("b_se", "its standard error", "standard deviations of ability"),
        _real("information", "of one trial, mean over abilities"),
        _real("slope", "on the ability from all other cases, its sign free"),
        _real("slope_se", "its standard error"),
        _whole("n", "scored trials", "trials"),
        _whole("c", "scored trials that passed", "trials"),
        _whole("configs", "configs that tried the case"),
        _real("rate", "c / n"),
        _text("flags", "what is odd about the case"),
        *STAMPS,
    ),
)
FINDINGS = Table(
    name="findings",
    version="1.0",
    meaning="a rule that a table of trials breaks",
    columns=(
        SUITE,
        SOURCE,
        _key("rule", "what was looked for"),
        _key("severity", "error, warning or info"),
        _whole("rows", "rows that are concerned", "rows"),
        _text("examples", "a few of them"),
        _text("remedy", "what to do about it"),
        *STAMPS,
    ),
)

TABLES: dict[str, Table] = {
    table.name: table for table in (COUNTS, ESTIMATES, COMPARED, DECISIONS, ITEMS, FINDINGS)
}
