"""CSV and TSV files: types that are inferred, and ids that must stay as they are written."""

from __future__ import annotations

import csv
import io
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from trialframe.errors import SourceError, listed, named
from trialframe.read import _bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger("trialframe")

INFER_BYTES = 256 * 2**20
"""CSV files up to this size have their types inferred from every row."""

INFER_ROWS = 10_000

_FULL = "\0every row has a value"
_SHORT = "\0the last column lacks values"

NO_SIGN = "\x1f"
"""A separator that no table uses: with it a line is one value."""

MORE = "found more fields"
"""How Polars begins when a row is longer than the header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """A CSV file that has been parsed once.

    Attributes:
        path: Path or URL.
        separator: What stands between two fields.
        types: Type of every column.
        bare: Columns without any value.
        blank: Whether some lines have no value at all, and are no rows.
        respelled: Columns of numbers or truth values that would not read as they are
            written, such as 1.10, 007, 1e3 or True.
    """

    path: str
    separator: str
    types: dict[str, pl.DataType]
    bare: tuple[str, ...] = ()
    blank: bool = False
    respelled: frozenset[str] = frozenset()

    def frame(self, texts: frozenset[str] = frozenset()) -> pl.LazyFrame:
        """The rows, with the columns `texts` as they are written.

        NaN is null also there: CSV has no other way to write a missing number.
        """
        kept = [n for n, dtype in self.types.items() if n in texts and dtype != pl.String]
        types = self.types | dict.fromkeys(kept, pl.String())
        if "://" in self.path:
            frame = pl.scan_csv(self.path, separator=self.separator, schema=types)
        else:
            frame = pl.scan_csv(self.path, separator=self.separator, schema=types, glob=False)
        if self.blank:
            frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
        words = [pl.when(_is_number(name)).then(pl.col(name)) for name in kept]
        bare = [pl.lit(None).alias(name) for name in self.bare]
        return frame.with_columns(cs.float().fill_nan(None), *words).with_columns(*bare)


def _is_number(name: str) -> pl.Expr:
    return ~pl.col(name).str.to_lowercase().is_in(["", "nan"])


def opened(path: str, kind: str, *, remote: bool = False) -> Csv:
    """Parse a file once, so that failures show here, and see what type inference gets wrong.

    Types come from every row of a file of ordinary size, else from 10,000 rows.

    Raises:
        SourceError: Two columns have one name, or a row has more fields than the header.
    """
    separator = "\t" if kind == "TSV" else ","
    if remote:
        frame = pl.scan_csv(path, separator=separator, infer_schema_length=INFER_ROWS)
        types = dict(frame.collect_schema())
        respelled = frozenset(name for name, dtype in types.items() if dtype != pl.String)
        return Csv(path=path, separator=separator, types=types, respelled=respelled)
    rows = None if Path(path).stat().st_size <= INFER_BYTES else INFER_ROWS
    try:
        return _parsed(path, separator, rows)
    except pl.exceptions.ComputeError as error:
        if rows is None:
            raise _too_long(path, separator, error) from error
    try:
        return _parsed(path, separator, None)
    except pl.exceptions.ComputeError as error:
        raise _too_long(path, separator, error) from error


def _parsed(path: str, separator: str, rows: int | None) -> Csv:
    types = _inferred(path, separator, rows)
    if len(types) == 1 and (
        other := next((sign for sign in ";\t" if sign in next(iter(types))), "")
    ):
        separator = other
        types = _inferred(path, separator, rows)
    _refuse_repeated_names(path, separator, types)
    frame = pl.scan_csv(path, separator=separator, schema=types, glob=False)
    filled = pl.all().is_not_null()
    facts = frame.select(
        filled.any(),
        pl.any_horizontal(filled).all().alias(_FULL),
        pl.col(list(types)[-1]).is_null().any().alias(_SHORT),
    )
    seen = facts.collect(engine="streaming").row(0, named=True)
    blank = not seen.pop(_FULL)
    if seen.pop(_SHORT) and len(types) > 1:
        _say_short_rows(path, separator, len(types))
    return Csv(
        path=path,
        separator=separator,
        types=types,
        bare=tuple(name for name, any_value in seen.items() if not any_value),
        blank=blank,
        respelled=_respelled(path, separator, types),
    )


def _inferred(path: str, separator: str, rows: int | None) -> dict[str, pl.DataType]:
    frame = pl.scan_csv(path, separator=separator, infer_schema_length=rows, glob=False)
    return dict(frame.collect_schema())


def _respelled(path: str, separator: str, types: dict[str, pl.DataType]) -> frozenset[str]:
    """Columns in which a value, printed again, is another text than the one in the file."""
    tests = {}
    for name, dtype in types.items():
        text = pl.col(name)
        if dtype == pl.Boolean:
            tests[name] = ~text.is_in(["true", "false"])
        elif dtype.is_numeric():
            again = text.cast(dtype, strict=False).cast(pl.String)
            tests[name] = _is_number(name) & again.ne_missing(text)
    if not tests:
        return frozenset()
    written = pl.scan_csv(path, separator=separator, infer_schema=False, glob=False)
    found = written.select(**{name: test.any() for name, test in tests.items()})
    seen = found.collect(engine="streaming").row(0, named=True)
    return frozenset(name for name, differs in seen.items() if differs)


def _refuse_repeated_names(path: str, separator: str, types: dict[str, pl.DataType]) -> None:
    if not any("_duplicated_" in name for name in types):  # what Polars makes of them
        return
    header = next(iter(_records(path, separator)))[1]
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise SourceError(
            f"{named(path)} has several columns named {listed(repeated)}. Rename all but one in "
            "the first line."
        )


def _records(path: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line each ends in; blank lines are no rows. Slow: to explain a failure."""
    with _bounded.opened(Path(path)) as stream:
        reader = csv.reader(
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter=separator
        )
        for row in reader:
            if row:
                yield reader.line_num, row


def _too_long(path: str, separator: str, error: Exception) -> Exception:
    """The error with the line of the first row that has more fields than the header."""
    if MORE not in str(error):
        return error
    try:
        records = _records(path, separator)
        wanted = len(next(records)[1])
        line, row = next((line, row) for line, row in records if len(row) > wanted)
    except (StopIteration, csv.Error, OSError, UnicodeDecodeError):
        return error
    return SourceError(
        f"cannot read {named(path)} as CSV: line {line} has {len(row)} fields, the header has "
        f"{wanted}. Put a field that holds {separator!r} in double quotes, or mend the line."
    )


def _say_short_rows(path: str, separator: str, width: int) -> None:
    """Warn of rows with fewer fields than the header; Polars fills them with null."""
    lines = pl.scan_csv(
        path,
        separator=NO_SIGN,
        quote_char=None,
        has_header=False,
        infer_schema=False,
        glob=False,
        schema={"line": pl.String},
    )
    few = pl.col("line").str.count_matches(separator, literal=True) < width - 1
    if not lines.select((few & (pl.col("line") != "")).any()).collect(engine="streaming").item():
        return
    short_rows = [line for line, row in _records(path, separator) if len(row) < width]
    if short_rows:
        log.warning(
            "%s: %s rows have fewer fields than the header, the first in line %s; what they lack "
            "is read as null. Mend these lines.",
            named(path),
            f"{len(short_rows):,}",
            short_rows[0],
        )
