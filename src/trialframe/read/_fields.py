"""Which source column is which canonical column, and the expressions that make it so.

`resolve` looks at names and types only and returns a `Plan`; `Plan.expression` turns one
field into an expression of Polars or of any namespace with the same functions, so that a
file reader and an engine that aggregates in place share one set of rules.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trialframe.errors import ColumnError, did_you_mean, listed, short
from trialframe.read._columns import COUNT_COLUMNS, Columns
from trialframe.read._kinds import kind_of, unfit
from trialframe.schema import TRIALS, Column, column

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COUNT_COLUMNS",
    "Columns",
    "Field",
    "Plan",
    "broken",
    "complaint",
    "expression",
    "kind_of",
    "resolve",
]

LARGEST = 2.0**53
"""Largest magnitude of a measure: whole numbers stay exact in a double up to here."""

STRICT = ("config", "case", "trial", "passed", "score", "cluster", "weight")
"""Columns that change the numbers: two candidates for one of them are an error."""

COMPOSITE = ("config", "case")

KEYS = ("config", "case", "cluster")
"""Columns that rows are grouped by: NaN would be a group of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One canonical column and where it comes from.

    Attributes:
        name: Canonical name.
        sources: Source columns; several only for a composite config or case.
        kind: Type family of the source: boolean, integer, float, string, time, other.
        how: "given" by the caller, "name" (canonical name found), "alias", "derived".
        factor: What turns the unit of the source into the canonical one.
        threshold: For `passed` made from a score: pass when score >= threshold.
        usable: False when the column was found but cannot serve, with the reason in `note`.
        note: One line for the report.
        floats: Those of the sources that are of kind float.
    """

    name: str
    sources: tuple[str, ...]
    kind: str
    how: Literal["given", "name", "alias", "derived"]
    factor: float = 1.0
    threshold: float | None = None
    usable: bool = True
    note: str = ""
    floats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every column of a table is taken for.

    Attributes:
        fields: Canonical columns that were found, in schema order.
        shape: "trials" for a row per trial, "counts" for a row per case with n and c.
        unused: Source columns that no field uses.
    """

    fields: tuple[Field, ...]
    shape: Literal["trials", "counts"]
    unused: tuple[str, ...]

    def get(self, name: str) -> Field | None:
        """The usable field of that name, or None."""
        return next((f for f in self.fields if f.name == name and f.usable), None)

    def frame(self) -> pl.DataFrame:
        """The report: one row per canonical column and per unused source column."""
        rows: list[tuple[str, str, str, str]] = [
            (f.name, " + ".join(f.sources), f.how if f.usable else "not used", f.note)
            for f in self.fields
        ]
        taken = {f.name for f in self.fields}
        notes = {True: "left out: its name is taken", False: "kept as it is"}
        rows += [("", name, "unused", notes[name in taken]) for name in self.unused]
        return pl.DataFrame(rows, schema=["column", "source", "how", "note"], orient="row")


def resolve(
    kinds: Mapping[str, str],
    columns: Mapping[str, Any],
    *,
    threshold: float | None = None,
) -> Plan:
    """Match source columns to canonical columns by the caller's mapping, names and aliases.

    Args:
        kinds: Source column name -> type family (see `kind_of`).
        columns: Canonical name -> source column, several for config and case, None to leave
            the column out.
        threshold: Pass when score >= threshold.

    Raises:
        ColumnError: A named column does not exist, a required one is missing, or two
            candidates compete for a column that changes the numbers.
    """
    wanted = {c.name: c for c in (*TRIALS, *COUNT_COLUMNS)}
    for name in columns:
        if name not in wanted:
            raise ColumnError(f"no canonical column {name!r}. {did_you_mean(name, wanted)}")
        value = columns[name]
        parts = (value or "",) if isinstance(value, str | None) else value
        if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
            raise ColumnError(f"{name}={short(value)}: give the name of a column or an expression.")
    taken = {s for v in columns.values() for s in ([v] if isinstance(v, str) else v or ())}
    normal = {name: _normal(name) for name in kinds if name not in taken}
    found: dict[str, Field] = {}
    for spec in wanted.values():
        field = _match(spec, kinds, columns, normal)
        if field is not None:
            found[spec.name] = field
    is_counts = threshold is None and _is_counts(found, columns)
    for name in ("passed", "score") if is_counts else ("n", "c", "unscored"):
        found.pop(name, None)
    if not is_counts:
        found["passed"] = _verdict(found, kinds, columns, threshold)
    _require(found, kinds, counts=is_counts)
    dropped = _stale(found)
    ordered = tuple(found[name] for name in wanted if name in found)
    used = {source for f in ordered for source in f.sources}
    return Plan(
        fields=ordered,
        shape="counts" if is_counts else "trials",
        unused=tuple(name for name in kinds if name not in used | dropped),
    )


def _stale(found: dict[str, Field]) -> frozenset[str]:
    """Leave out what says that `trial` was made up, where other numbers are taken for it."""
    trial, made = found.get("trial"), found.get("trial_made")
    if made is None or made.how == "given" or (trial is not None and trial.sources == ("trial",)):
        return frozenset()
    del found["trial_made"]
    return frozenset(made.sources)


@lru_cache(maxsize=4096)
def _normal(name: str) -> str:
    """A name as aliases are written; letters of any script stay, so score.正确 is no score."""
    before, dot, after = name.rpartition(".")
    if dot and before and not re.search(r"[^\W_]", after):
        return name
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def _match(
    spec: Column, kinds: Mapping[str, str], columns: Mapping[str, Any], normal: Mapping[str, str]
) -> Field | None:
    """The field of a column: as given, else by the names that nothing else was given for."""
    if spec.name in columns:
        given = columns[spec.name]
        return None if given is None else _given(spec, kinds, given)
    if spec.name in normal:
        return _field(spec, spec.name, kinds, how="name")
    candidates = [name for name, plain in normal.items() if plain == spec.name]
    candidates = candidates or [name for name, plain in normal.items() if plain in spec.aliases]
    if len(candidates) == 1:
        return _field(spec, candidates[0], kinds, how="alias")
    if not candidates:
        return None
    choose = f"Choose one, for example {spec.name}={candidates[0]!r}"
    if spec.name in COMPOSITE:
        choose += f", or several, for example {spec.name}={candidates!r}"
    if spec.name in STRICT:
        raise ColumnError(
            f"column {spec.name!r} is ambiguous: {listed(candidates)} could be it. {choose}.",
        )
    note = f"ambiguous: {listed(candidates)}. {choose}"
    return Field(name=spec.name, sources=(), kind="other", how="alias", usable=False, note=note)


def _given(spec: Column, kinds: Mapping[str, str], value: Any) -> Field:
    sources = (value,) if isinstance(value, str) else tuple(value)
    if len(sources) > 1 and spec.name not in COMPOSITE:
        raise ColumnError(
            f"{spec.name}={short(value)}: only config and case may be several columns."
        )
    if not sources:
        raise ColumnError(f"{spec.name}=[]: name at least one column.")
    for source in sources:
        if source not in kinds:
            raise ColumnError(
                f"no column {short(source)} (for {spec.name}). {did_you_mean(str(source), kinds)}"
            )
    if len(sources) == 1:
        return _field(spec, sources[0], kinds, how="given")
    floats = tuple(source for source in sources if kinds[source] == "float")
    return Field(name=spec.name, sources=sources, kind="string", how="given", floats=floats)


def _field(
    spec: Column,
    source: str,
    kinds: Mapping[str, str],
    *,
    how: Literal["given", "name", "alias"],
) -> Field:
    kind = kinds[source]
    factor = spec.aliases.get(_normal(source), 1.0) if source != spec.name else 1.0
    note = "" if factor == 1.0 else f"x {factor:g} to {spec.unit}"
    problem = unfit(spec, kind, source)
    if not problem:
        return Field(
            name=spec.name,
            sources=(source,),
            kind=kind,
            how=how,
            factor=factor,
            note=note,
            floats=(source,) if kind == "float" else (),
        )
    message = f"column {source!r} ({kind}) cannot serve as {spec.name}: {problem}"
    if how == "given" or spec.required or spec.name in STRICT:
        raise ColumnError(f"{message}.")
    return Field(name=spec.name, sources=(source,), kind=kind, how=how, usable=False, note=problem)


def _is_counts(found: Mapping[str, Field], columns: Mapping[str, Any]) -> bool:
    if "n" not in found or "c" not in found:
        return False
    return "passed" not in found or bool({"n", "c"} & set(columns))


def _verdict(
    found: Mapping[str, Field],
    kinds: Mapping[str, str],
    columns: Mapping[str, Any],
    threshold: float | None,
) -> Field:
    """The field of `passed`: a column, or a score with a threshold."""
    score = found.get("score")
    if threshold is not None and columns.get("passed") is not None:
        raise ColumnError("give either passed= or threshold=, not both.")
    if threshold is None and "passed" in found:
        return found["passed"]
    if score is None:
        if threshold is not None:
            raise ColumnError(
                f"threshold={threshold:g} needs a score column. {did_you_mean('score', kinds)}"
            )
        raise ColumnError(
            "no column says whether a trial passed. Name it, for example passed='ok', or give "
            f"score='points' and threshold=0.5. {_held(kinds)}",
        )
    note = f"{score.sources[0]} >= {1.0 if threshold is None else threshold:g}"
    if threshold is None:
        note += "; the score must be 0, 1 or null, else give threshold="
    return Field(
        name="passed",
        sources=score.sources,
        kind=score.kind,
        how="derived",
        threshold=threshold,
        note=note,
    )


def _held(kinds: Mapping[str, str]) -> str:
    return f"Columns: {listed(kinds, 20)}." if kinds else "The table has no columns at all."


def _require(found: Mapping[str, Field], kinds: Mapping[str, str], *, counts: bool) -> None:
    if "case" not in found:
        raise ColumnError(
            "no column says which case a row belongs to. Name it, for example case='task'. "
            f"{_held(kinds)}",
        )
    if counts and (found["n"].kind != "integer" or found["c"].kind != "integer"):
        bad = "n" if found["n"].kind != "integer" else "c"
        raise ColumnError(
            f"column {found[bad].sources[0]!r} ({found[bad].kind}) cannot serve as {bad}: "
            "counts are whole numbers. Cast it first.",
        )


def expression(field: Field, xp: Any) -> Any:
    """The canonical column as an expression of `xp` (polars or a namespace like it).

    Values that break the contract come out null; `broken` finds them.
    """
    source = xp.col(field.sources[0])
    spec = column((*TRIALS, *COUNT_COLUMNS), field.name)
    if field.kind == "null":
        return source.cast(_dtype(spec, xp))
    if field.name == "trial" and field.kind == "string":
        return source.cast(xp.String).rank("dense").cast(xp.Int64) - 1
    if isinstance(spec.dtype, pl.Datetime) and field.kind == "string":
        return source.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    if spec.dtype == pl.Boolean:
        return _flag(field, source, xp)
    if spec.dtype == pl.Int64 and field.kind == "float":
        scaled = source.cast(xp.Float64) * field.factor
        return (
            xp.when(scaled.abs() <= LARGEST)
            .then((scaled + 0.5).floor())
            .otherwise(None)
            .cast(xp.Int64)
        )
    if spec.dtype == pl.Int64 and field.factor != 1.0:
        return (source.cast(xp.Int64) * int(field.factor)).cast(xp.Int64)
    if spec.dtype == pl.Float64:
        value = source.cast(xp.Float64)
        return xp.when(value.abs() <= LARGEST).then(value).otherwise(None)
    return source.cast(_dtype(spec, xp))


def _dtype(spec: Column, xp: Any) -> Any:
    if isinstance(spec.dtype, pl.Datetime):
        return xp.Datetime("us", "UTC")
    return getattr(xp, str(spec.dtype))


def _flag(field: Field, source: Any, xp: Any) -> Any:
    if field.threshold is not None:
        score = source.cast(xp.Float64)
        return xp.when(score.abs() <= LARGEST).then(score >= field.threshold).otherwise(None)
    if field.kind == "boolean":
        return source
    yes, no = _spellings(field, source, xp)
    return xp.when(yes).then(xp.lit(True)).when(no).then(xp.lit(False)).otherwise(None)


def _spellings(field: Field, source: Any, xp: Any) -> tuple[Any, Any]:
    """Expressions for "is true" and "is false" of a column that is not Boolean."""
    if field.kind == "string":
        text = source.cast(xp.String).str.to_lowercase()
        return text == "true", text == "false"
    return source == 1, source == 0


def broken(field: Field, xp: Any) -> Any | None:
    """An expression that is true where the source value breaks the contract, or None."""
    source = xp.col(field.sources[0])
    spec = column((*TRIALS, *COUNT_COLUMNS), field.name)
    if spec.dtype == pl.Boolean and field.threshold is None and field.kind != "boolean":
        if field.kind == "null":
            return None
        yes, no = _spellings(field, source, xp)
        return ~source.is_null() & ~yes & ~no
    if field.name in KEYS and field.floats:
        # The contract of keys: unknown is null; NaN would be one config or case like any other.
        tests = [xp.col(part).cast(xp.Float64).is_nan() for part in field.floats]
        return reduce(operator.or_, tests)
    if spec.dtype in (pl.Int64, pl.Float64, pl.Boolean) and field.kind == "float":
        value = source.cast(xp.Float64) * field.factor
        return ~source.is_null() & ~(value.abs() <= LARGEST)
    return None


def complaint(field: Field, rows: int, examples: str) -> str:
    """The message for rows that `broken` found."""
    spec = column((*TRIALS, *COUNT_COLUMNS), field.name)
    name = field.sources[0]
    if field.name in KEYS:
        return (
            f"column {(field.floats or field.sources)[0]!r} is NaN in {rows:,} rows, and NaN names "
            f"no {field.name}. {'First: ' + examples + '. ' if examples else ''}Fill in the "
            f"{field.name} of these rows, or leave them out."
        )
    first = f" First: {examples}." if examples else ""
    if spec.dtype == pl.Boolean and field.threshold is None:
        if field.how == "derived":
            todo = "Give threshold=, the score from which a trial passes."
            wanted = "0, 1 or null when no threshold is given"
        else:
            todo = f'Map them first, for example {field.name}=pl.col("{name}") == "C".'
            wanted = "true, false or null"
        return f"column {name!r} must be {wanted}; other values in {rows:,} rows.{first} {todo}"
    return (
        f"column {name!r} holds NaN, infinity or a number beyond 2^53 in {rows:,} rows.{first} "
        f'Unknown is null, for example {field.name}=pl.col("{name}").fill_nan(None).'
    )
