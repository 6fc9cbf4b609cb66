"""Which run wrote a row, with which settings, when and with which version."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe._optional import installed_version
from trialframe.errors import ArgumentError, short
from trialframe.export.rows import as_text
from trialframe.warehouse import INSTANT

if TYPE_CHECKING:
    from typing import Any

    from trialframe.warehouse import Table


SMALL = 1e-12
"""What is left of a sum that cancels out is no difference between two runs."""


def settings_of(table: Table, suite: str, settings: dict[str, Any]) -> tuple[str, str]:
    """The settings as JSON, and their SHA-256 as 64 hexadecimal digits.

    Table and suite count as settings, so that no two jobs share a hash by having few.
    """
    text = as_text({"table": table.name, "suite": suite} | settings)
    return text, hashlib.sha256(text.encode()).hexdigest()


def run_id_of(frame: pl.DataFrame, settings_hash: str) -> str:
    """A run id made of the rows and the settings: the same job again is the same run.

    Args:
        frame: The rows in the order of their key, without stamps. Columns without any value
            do not count, so that a later minor version of a table gives the same id. Reals count
            to seven digits, everything else in full.
        settings_hash: Hash of the settings, which name the table.

    Returns:
        32 hexadecimal digits.
    """
    made = hashlib.sha256(settings_hash.encode())
    for column in frame:
        if column.null_count() < len(column):
            made.update(f"{column.name}\0{len(column)}\0".encode())
            for part in _bytes_of(column):
                made.update(part)
    return made.hexdigest()[:32]


def _bytes_of(column: pl.Series) -> list[bytes | memoryview]:
    """A column as bytes whatever the version of the engine: values, lengths, gaps."""
    gaps = [np.packbits(column.is_null().to_numpy()).tobytes()] if column.null_count() else []
    if column.dtype == pl.String:
        filled = column.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
        _, offsets, data = filled.buffers()
        ends = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
        text = memoryview(data)[ends[0] : ends[-1]] if data is not None else b""
        return [*gaps, np.diff(ends).astype("<i8").tobytes(), text]
    if column.dtype == pl.Float64:
        return [*gaps, _steady(column.fill_null(0.0).to_numpy()).astype("<f8").tobytes()]
    return [*gaps, column.cast(pl.Int64).fill_null(0).to_numpy().astype("<i8").tobytes()]


def _steady(values: np.ndarray) -> np.ndarray:
    """Numbers to 22 bits, about seven digits.

    Sums of reals differ in their last bits from run to run, with the order in which threads add.
    """
    part, power = np.frexp(values)
    with np.errstate(over="ignore"):  # the largest may round up to infinity, for the hash
        rounded = np.ldexp(np.rint(part * 2.0**22), power - 22)
    return np.where((np.abs(values) < SMALL) & (values != 0.0), 0.0, rounded)


def named_run(given: object, default: str) -> str:
    """The run id that was given, or the default.

    Raises:
        ArgumentError: Not a text, empty, or with a null character.
    """
    if given is None:
        return default
    if not isinstance(given, str) or not given.strip() or "\x00" in given:
        raise ArgumentError(
            f"run_id == {short(given)}, must be a text such as 'nightly-2026-01-31'."
        )
    return given


def instant(given: object) -> datetime:
    """The time of the export in UTC; now when none was given.

    Raises:
        ArgumentError: Not a datetime with a time zone, or text in ISO 8601.
    """
    if given is None:
        return datetime.now(UTC)
    wanted = f"created_at == {short(given)}, must be a datetime with its time zone, or ISO 8601."
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ArgumentError(wanted) from None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ArgumentError(wanted)
    return moment.astimezone(UTC)


def stamped(
    frame: pl.DataFrame, table: Table, run_id: str, moment: datetime, settings: tuple[str, str]
) -> pl.DataFrame:
    """The rows with the columns that every table ends with."""
    text, digest = settings
    return frame.with_columns(
        schema_version=pl.lit(table.version),
        run_id=pl.lit(run_id),
        created_at=pl.lit(moment).cast(INSTANT),
        package_version=pl.lit(installed_version("unknown")),
        settings_hash=pl.lit(digest),
        settings=pl.lit(text),
    ).select(table.schema.names())
