"""Any source as one table: logs, files of plain tables, or a table in memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, listed, named, short
from trialframe.read._combine import Raw, one_table
from trialframe.read._frames import to_lazy
from trialframe.read._paths import LOGS_ONLY, DataFile, files_of, refuse_empty
from trialframe.read._presets import preset_of
from trialframe.read._scan import scan
from trialframe.read.logs import Choice, found_in, read_logs

if TYPE_CHECKING:
    from trialframe.read.logs import Found

log = logging.getLogger("trialframe")


def load(source: Any, choice: Choice | None = None) -> Raw:
    """The source as one table, whatever it is.

    Raises:
        SourceError: It cannot be read.
    """
    choice = choice or Choice()
    if not _is_paths(source):
        lazy = to_lazy(source)
        if lazy is None:
            raise SourceError(
                f"a {type(source).__name__} is a table of another engine: give it to tr.counts, "
                "which counts there and brings home the counts only."
            )
        return preset_of(Raw(frame=lazy), choice)
    files = files_of(source, empty="raise" if choice.strict else "keep")
    log.info("data files: %d, the first is %s", len(files), short(files[0].path))
    found = found_in(files, choice)
    if not found.logs:
        refuse_empty(files)
    if found.logs or found.unread:
        return _of_logs(found, choice)
    tables = _tables(files, choice)
    scans = [scan(file) for file in tables]
    return preset_of(one_table(tables, scans, [item.frame for item in scans]), choice)


def _of_logs(found: Found, choice: Choice) -> Raw:
    """The logs, with what was left out beside them said."""
    named = [file.path for file in found.others if file.named]
    if named and found.logs:
        kinds = listed(dict.fromkeys(kind.name for _, kind in found.logs))
        raise SourceError(
            f"{listed(named, 3)} are no logs, and the other files are ({kinds}). Read them apart: "
            "logs first, then the tables."
        )
    if found.others:
        names = listed((file.path for file in found.others), 5)
        log.warning("%d files are no logs and were left out: %s", len(found.others), names)
    logs = read_logs(found, choice)
    return Raw(frame=logs.frame.lazy(), taken=logs.fields, unread=logs.unread, rows=logs.frame)


def _tables(files: Sequence[DataFile], choice: Choice) -> list[DataFile]:
    """Files of plain tables; archives and XML that are no known log are named or refused."""
    kept = [file for file in files if file.format not in LOGS_ONLY]
    odd = [file for file in files if file.format in LOGS_ONLY]
    wanted = f"a {choice.format} log" if choice.format else "a log that is known"
    if odd and (not kept or any(file.named for file in odd)):
        where = next((file for file in odd if file.named), odd[0])
        why = "a log cannot be read from a URL: copy it first" if where.remote else f"not {wanted}"
        raise SourceError(
            f"{named(where.path)} is {why}. `trialframe formats` lists what can be read; name one "
            "with format= of tr.read when the file is not recognised."
        )
    for file in odd:
        log.warning("left out %s: not %s", named(file.path), wanted)
    return kept


def from_logs(report: pl.DataFrame, raw: Raw) -> pl.DataFrame:
    """The report of columns, those of logs with their place in the log."""
    if not raw.taken:
        return report
    rows = []
    named = set(report["column"])
    for name, source, how, note in report.rows():
        take = raw.taken.get(source)
        replaced = not name and source in named
        if take is None or replaced or how not in {"name", "alias", "unused"}:
            rows.append((name, source, how, note))
        else:
            shown = name or source
            rows.append((shown, take.path or "made", "log", take.note or note))
    return pl.DataFrame(rows, schema=report.schema, orient="row")


def _is_paths(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, Sequence) or isinstance(source, bytes) or not source:
        return False
    return all(isinstance(item, str | os.PathLike) for item in source)
