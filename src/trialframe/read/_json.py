"""Plain tables in JSON: one object a line, a list of objects, or an object of lists."""

from __future__ import annotations

import glob
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read import _bounded
from trialframe.read._frames import reason
from trialframe.read._survey import (
    blocks,
    names_in,
    refuse_deep,
    refuse_sparse,
    survey,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trialframe.read._paths import DataFile
    from trialframe.read._survey import Survey

IN_MEMORY = 512 * 2**20
"""JSON lines of up to this size are parsed once, into memory; larger files are scanned."""

FAILURES = (pl.exceptions.PolarsError, OSError, ValueError, OverflowError, RecursionError)
"""What parsers raise at a file that is not what its name says."""


def json_lines(file: DataFile) -> pl.LazyFrame:
    """One object a line; a key that only some rows have is a column.

    Raises:
        SourceError: A line is no JSON or no object, or the file is beyond bounds.
    """
    if file.remote:
        return pl.scan_ndjson(file.path, infer_schema_length=None)
    facts = survey(file.path)
    try:
        if facts.size <= IN_MEMORY:
            return _in_memory(file.path, facts).lazy()
        return _scanned(file.path, facts)
    except pl.exceptions.PolarsError as error:  # bare NaN, values of several types in one column
        if facts.size > IN_MEMORY:
            raise SourceError(
                f"cannot read {named(file.path)} as JSON lines: {reason(error)}. A file of more "
                f"than {IN_MEMORY >> 20} MiB must have one type a column, and no bare NaN: split "
                "it, or write Parquet."
            ) from error
    return from_rows(_parsed_lines(file.path), file)


def _in_memory(path: str, facts: Survey) -> pl.DataFrame:
    """The rows, parsed once where the sample of the file tells the types of all of it."""
    start = start_of(path, facts)
    if len(facts.sample) == facts.size:
        return start
    source = source_of(path)
    frame = _typed(source, start.schema, path, facts)
    if frame is not None:
        return frame
    refuse_sparse(path, names_in(blocks(path)), facts.lines, facts.colons)
    return pl.read_ndjson(source, infer_schema_length=None)


def start_of(path: str, facts: Survey) -> pl.DataFrame:
    """The sample of a file as a table.

    Raises:
        SourceError: It would be far larger than the file.
        pl.exceptions.PolarsError: It is nothing that Polars parses.
    """
    sample = facts.sample
    refuse_sparse(path, names_in([sample]), sample.count(b"\n"), sample.count(b":"))
    return pl.read_ndjson(sample, infer_schema_length=None)


def source_of(path: str) -> str | bytes:
    """What to give to Polars in order to parse a file: its path, or its bytes."""
    plain = not _bounded.is_packed(path) and not glob.has_magic(path)
    return path if plain else _bounded.content(Path(path), IN_MEMORY)


def _scanned(path: str, facts: Survey) -> pl.LazyFrame:
    if glob.has_magic(path):
        raise SourceError(f"{named(path)} would be taken for a pattern. Name it without *, ? or [.")
    refuse_sparse(path, names_in(blocks(path)), facts.lines, facts.colons)
    frame = pl.scan_ndjson(path, infer_schema_length=None)
    frame.collect_schema()
    return frame


def _typed(source: str | bytes, schema: pl.Schema, path: str, facts: Survey) -> pl.DataFrame | None:
    """The rows by a schema; None when a value does not fit it, or a key may be missing from it.

    Polars refuses values of other types, but drops keys that the schema lacks. Every key has a
    colon: where the values that were read, the nulls and the colons inside text account for all
    colons of the file, no key was dropped but such that are null wherever they are.
    """
    try:
        frame = pl.read_ndjson(source, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    parts = list(_parts(frame))
    if any(part.dtype == pl.Null for part, keyed in parts if not keyed):
        return None  # items whose type the sample does not tell: Polars makes nulls of them
    left = facts.colons - sum(part.count() for part, keyed in parts if keyed)
    if not left:
        return frame
    left -= _in_text(frame, ":", literal=True)
    null, nulls = b": null" if b'": ' in facts.sample else b":null", 0
    for block in blocks(path) if left or facts.escapes else ():
        if facts.escapes and b"\\u003" in block and re.search(rb"\\u003[aA]", block):
            return None  # text with a colon that is not among those of the file
        nulls += block.count(null)
    if left:
        # an object in a column of text has become text, with a space after its colons
        objects = _in_text(frame, r"^[\[{]")
        left -= nulls - _in_text(frame, ": ?null" if objects else null.decode())
    return None if left else frame


def _parts(frame: pl.DataFrame) -> Iterator[tuple[pl.Series, bool]]:
    """Columns, the fields inside them, and items of lists; each with whether it has a key."""
    for column in frame:
        yield column, True
        inner = column
        while isinstance(inner.dtype, pl.List):
            inner = inner.drop_nulls().explode()
            yield inner, False
        if isinstance(inner.dtype, pl.Struct):
            yield from _parts(inner.struct.unnest())


def _in_text(frame: pl.DataFrame, pattern: str, *, literal: bool = False) -> int:
    """How often a pattern is inside the text of a table."""
    texts = (part for part, _ in _parts(frame) if part.dtype == pl.String)
    return sum(int(text.str.count_matches(pattern, literal=literal).sum()) for text in texts)


def _parsed_lines(path: str) -> Iterator[Any]:
    for number, line in _bounded.lines(Path(path)):
        try:
            yield _loads(line)
        except UnicodeDecodeError as error:
            raise SourceError(_not_utf8(path, f"line {number}")) from error
        except ValueError as error:
            raise SourceError(
                f"cannot read {named(path)} as JSON lines: line {number} is not JSON "
                f"({error}). Mend or remove the line."
            ) from error


def _not_utf8(path: str, where: str) -> str:
    return f"cannot read {named(path)}: {where} is not UTF-8. Save it as UTF-8."


def _loads(text: bytes) -> Any:
    """JSON as Python writes it: a bare NaN is a missing value."""
    return json.loads(
        text.decode("utf-8-sig"),
        parse_constant=lambda word: None if word == "NaN" else float(word),
    )


def json_document(file: DataFile) -> pl.LazyFrame:
    """A list of objects, an object of equally long lists, or objects a line by another name.

    Raises:
        SourceError: It holds no table, or is beyond bounds.
    """
    if file.remote:
        return pl.read_json(file.path, infer_schema_length=None).lazy()
    text = _bounded.content(Path(file.path)).removeprefix(b"\xef\xbb\xbf")
    refuse_deep(text, file.path)
    try:
        if text.lstrip()[:1] == b"[":
            refuse_sparse(file.path, names_in([text]), text.count(b"{"), text.count(b":"))
            try:
                return pl.read_json(text, infer_schema_length=None).lazy()
            except pl.exceptions.PolarsError:  # bare NaN, or several types in one column
                return from_rows(_loads(text), file)
        content = _loads(text)
    except UnicodeDecodeError as error:
        raise SourceError(_not_utf8(file.path, f"byte {error.start:,}")) from error
    except json.JSONDecodeError as error:
        if "Extra data" in str(error):  # one object a line in a file named .json
            return json_lines(file)
        raise
    return _from_object(content, file)


def _from_object(content: Any, file: DataFile) -> pl.LazyFrame:
    """A JSON object of equally long lists is a table by columns; nothing else is."""
    if isinstance(content, dict) and content:
        lengths = {len(v) if isinstance(v, list) else -1 for v in content.values()}
        if len(lengths) == 1 and lengths != {-1}:
            names = list(content)
            rows = zip(*content.values(), strict=True)
            return from_rows([dict(zip(names, row, strict=True)) for row in rows], file, names)
    inside = (
        [k for k, v in content.items() if isinstance(v, list)] if isinstance(content, dict) else []
    )
    hint = (
        f" Its list {short(inside[0])} may be it: load the file and pass that list."
        if inside
        else ""
    )
    raise SourceError(
        f"{named(file.path)} holds no table: an array of objects, or an object of equally long "
        f"arrays, is needed.{hint}"
    )


def from_rows(
    rows: Iterable[Any],
    file: DataFile,
    names: list[str] | None = None,
) -> pl.LazyFrame:
    """Rows that Polars could not parse itself; nested values that do not fit become JSON text."""
    records = list(rows)
    wrong = [record for record in records if not isinstance(record, dict)]
    if wrong:
        raise SourceError(
            f"{named(file.path)} holds {short(wrong[0])} where an object per row is needed. "
            "Remove it, or load the file and pass the table."
        )
    if not records:
        return pl.LazyFrame(schema=dict.fromkeys(names or [], pl.Null))
    columns = len(set().union(*records))
    refuse_sparse(file.path, columns, len(records), sum(map(len, records)))
    try:
        return pl.from_dicts(records, infer_schema_length=None, strict=False).lazy()
    except (*FAILURES, TypeError):
        flat = [{k: _flat(v) for k, v in record.items()} for record in records]
        return pl.from_dicts(flat, infer_schema_length=None, strict=False).lazy()


def _flat(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) > 2**63 - 1:
        return float(value) if math.isfinite(value) else None
    return value
