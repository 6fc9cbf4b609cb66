"""Parts of a suite that a gate looks at by themselves: groups and guard sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, ColumnError, did_you_mean, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Guard: TypeAlias = str | pl.Expr | Mapping[str, "Iterable[str]"]

SUMS = ("cases", "wins", "losses", "solved")
_SIDES = ("baseline", "candidate")
_NUMBERS = {
    *(f"{name}_{side}" for name in ("n", "c", "value") for side in _SIDES),
    *("diff", "weight", *SUMS),
}


def part_sums(
    ledger: pl.DataFrame,
    by: tuple[str, ...],
    guard: Guard | Sequence[Guard],
    *,
    units: str = "clusters",
) -> pl.DataFrame:
    """Sums of the ledger in every group of the `by` columns and in every guard set.

    Args:
        ledger: One row per shared case: the columns of `Comparison.pairs` and, as whole numbers,
            those of `SUMS`.
        by: Columns to group by.
        guard: "column=value", an expression that is true for the cases of the set, a mapping
            from name to cases, or several of these.
        units: What the comparison took for independent: with "cases" there are no clusters.

    Returns:
        One row per group and guard set: `kind`, `name` and `SUMS`.

    Raises:
        ColumnError: A column that the shared cases do not have.
        ArgumentError: A value or case that does not occur, or a set without cases.
    """
    sums = [pl.col(name).sum() for name in SUMS]
    schema = {"kind": pl.String, "name": pl.String} | dict.fromkeys(SUMS, pl.Int64)
    rows = [pl.DataFrame(schema=schema)]
    if by:
        for name in by:
            if name not in groupable(ledger):
                _refuse(name, "by", groupable(ledger), units)
        found = ledger.group_by(by).agg(sums).sort(by, nulls_last=True)
        label = pl.concat_str(_labels(by), separator=", ")
        rows.append(found.select(pl.lit("by").alias("kind"), label.alias("name"), *SUMS))
    for name, inside in _guards(ledger, guard, units):
        part = ledger.filter(inside)
        if part.is_empty():
            raise ArgumentError(
                f"guard {short(name)} holds none of the {ledger.height:,} shared cases. Leave it "
                "out, or name cases that both configs ran."
            )
        head = pl.lit("guard").alias("kind"), pl.lit(name).alias("name")
        rows.append(part.select(*head, *sums))
    return pl.concat(rows)


def groupable(pairs: pl.DataFrame) -> list[str]:
    """Columns of the shared cases that describe them."""
    return [name for name in pairs.columns if name != "case" and name not in _NUMBERS]


def _labels(by: tuple[str, ...]) -> Iterator[pl.Expr]:
    for name in by:
        text = pl.format("{}={}", pl.lit(name), pl.col(name).cast(pl.String))
        yield text.fill_null(f"{name} missing")


def _refuse(name: str, where: str, known: Sequence[str], units: str | None) -> NoReturn:
    """Say why the cases cannot be parted by a column that is not among the known ones."""
    if units is not None and name in _NUMBERS:
        raise ColumnError(f"{where}: {name!r} is a column of the result. Rename yours to keep it.")
    if name == "case":
        raise ColumnError(
            f"{where}: 'case' would make every case a group of its own. Name a column that "
            "several cases share; the broken cases are listed by name anyway."
        )
    if name == "cluster" and units == "cases":
        raise ColumnError(
            f'{where}: units="cases" drops the clusters. Leave it out, or copy the column under '
            "another name and use that one."
        )
    if name == "cluster":
        raise ColumnError(
            f"{where}: the cases have no clusters. Say where they are with cluster='column'."
        )
    raise ColumnError(
        f"{where}: the cases have no column {name!r} that agrees in both configs: it differs, or "
        f"it was not kept with tr.counts(..., by={name!r}). {did_you_mean(name, known)}"
    )


def _guards(
    ledger: pl.DataFrame, guard: Guard | Sequence[Guard], units: str
) -> Iterator[tuple[str, pl.Series]]:
    """Name and rows of every guard set."""
    if isinstance(guard, str | pl.Expr | Mapping):
        guard = [guard]
    if not isinstance(guard, Sequence):
        raise _no_guard(guard)
    for item in guard:
        if isinstance(item, str):
            yield item, equal(ledger, item, ["case", *groupable(ledger)], units)
        elif isinstance(item, pl.Expr):
            yield str(item), _true(ledger, item)
        elif isinstance(item, Mapping):
            for name, cases in item.items():
                yield str(name), _listed(ledger, str(name), cases)
        else:
            raise _no_guard(item)


def _no_guard(value: object) -> ArgumentError:
    return ArgumentError(
        f"guard == {short(value)}, must be 'column=value', a Polars expression, a mapping from "
        "name to cases, or a list of these."
    )


def equal(
    cases: pl.DataFrame, text: str, columns: Sequence[str], units: str | None = None
) -> pl.Series:
    """Rows where a column has a value: "column=value".

    Args:
        cases: One row per case.
        text: Column and value; the name of the column may hold equals signs.
        columns: Columns that may be named.
        units: What a comparison took for independent; None where the cases are those of counts.

    Raises:
        ColumnError: No such column.
        ArgumentError: No equals sign, or a value that no case has.
    """
    splits = [(text[:i].strip(), text[i + 1 :].strip()) for i, c in enumerate(text) if c == "="]
    if not splits:
        raise ArgumentError(f"guard == {short(text)}: write it as column=value.")
    found = next((split for split in splits if split[0] in columns), None)
    if found is None:
        _refuse(splits[0][0], f"guard {short(text)}", columns, units)
    name, value = found
    texts = cases[name].cast(pl.String)
    same = (texts == value).fill_null(value=False)
    if not same.any():
        values = texts.drop_nulls().unique().sort().to_list()
        raise ArgumentError(
            f"guard {short(text)}: no case has {name} {value!r}. {did_you_mean(value, values)}"
        )
    return same


def _true(ledger: pl.DataFrame, test: pl.Expr) -> pl.Series:
    """Cases for which an expression is true."""
    name = short(str(test))
    try:
        made = ledger.drop(SUMS).select(test).to_series()
    except pl.exceptions.PolarsError as error:
        told = str(error).strip().partition("\n")[0]
        raise ArgumentError(
            f"guard {name} does not work on the shared cases: {told}. {_has(ledger)}"
        ) from error
    if made.dtype != pl.Boolean or len(made) != ledger.height:
        raise ArgumentError(
            f"guard {name} gives {len(made):,} values of type {made.dtype}, must be true or false "
            f"for each of the {ledger.height:,} shared cases. {_has(ledger)}"
        )
    return made.fill_null(value=False)


def _has(ledger: pl.DataFrame) -> str:
    return f"They have {listed(['case', *groupable(ledger)])}."


def _listed(ledger: pl.DataFrame, name: str, cases: object) -> pl.Series:
    """Cases that are named one by one."""
    wanted = _checks.names(cases, f"guard[{name!r}]")
    if not wanted:
        raise ArgumentError(f"guard {name!r} names no case. Name some, or leave it out.")
    known = set(ledger["case"])
    unknown = [case for case in wanted if case not in known]
    if unknown:
        raise ArgumentError(
            f"guard {name!r}: {len(unknown):,} of its {len(wanted):,} cases are none of the "
            f"shared cases: {listed(unknown)}. Leave them out, or run them with both configs."
        )
    return ledger["case"].is_in(list(wanted))
