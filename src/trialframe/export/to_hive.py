"""A table as Parquet in folders named column=value, one file a run in each.

The whole folder changes in one step: files that stay are linked into a hidden copy beside it,
which then takes the folder's name. Whoever reads sees the table before or after the export.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import polars as pl

from trialframe.errors import ArgumentError, ExportError, did_you_mean, listed, short
from trialframe.export.atomic import draft_of, locked, put_in_place, restore, synced
from trialframe.export.evolve import missing_columns
from trialframe.export.job import merged
from trialframe.export.to_file import about

if TYPE_CHECKING:
    from pathlib import Path

    from trialframe.export.job import Job
    from trialframe.warehouse import Table

PREFERRED = ("config", "candidate", "source", "model")
"""Where no columns are named, the first of these that the table has makes the folders."""

LONGEST = 255
"""Bytes of a name in most file systems."""


def write(job: Job) -> None:
    """Write the rows as Parquet files below a folder."""
    folder = job.target.place
    with locked(folder):
        restore(folder)
        files = _files(folder)
        by = _partitions(job, folder, files)
        if folder.is_dir() and any(folder.iterdir()) and not files:
            raise ExportError(
                f"{job.target.shown} is a folder with other files and no Parquet: choose an empty "
                "or a new one."
            )
        changed, old = _affected(job, folder, files, by)
        made = merged(old, job)
        draft = draft_of(folder)
        try:
            draft.mkdir()
            _keep(folder, draft, changed)
            _write_parts(made, draft, by, job.table)
            for place in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
                synced(place)
            put_in_place(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _files(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.rglob("*.parquet") if not file.name.startswith((".", "_"))
    )


def _partitions(job: Job, folder: Path, files: list[Path]) -> tuple[str, ...]:
    """The columns that make the folders, the same for every export."""
    allowed = [c.name for c in job.table.columns if c.dtype == pl.String and not c.nullable]
    given = job.partition_by
    found = {tuple(_values(file.relative_to(folder))) for file in files}
    if len(found) > 1:
        raise ExportError(
            f"{job.target.shown} mixes folders by {listed(found)}: choose another target."
        )
    if found:
        there = found.pop()
        if given not in {None, there} and job.mode != "replace":
            raise ArgumentError(
                f"partition_by == {given}, but {job.target.shown} is in folders by {there}: leave "
                "partition_by out, or write it anew with mode='replace'."
            )
        given = there if given is None else given
    if given is None:
        given = tuple(name for name in PREFERRED if name in allowed)[:1] or ("suite",)
    for name in given:
        if name not in allowed:
            raise ArgumentError(f"partition_by: no column {name!r}. {did_you_mean(name, allowed)}")
    if len(set(given)) < len(given):
        raise ArgumentError(f"partition_by names a column twice: {listed(given)}.")
    return given


def _values(relative: Path) -> dict[str, str]:
    """Column values from folder names."""
    pairs = (part.partition("=") for part in relative.parts[:-1])
    return {name: unquote(value) for name, sign, value in pairs if sign}


def _affected(
    job: Job, folder: Path, files: list[Path], by: tuple[str, ...]
) -> tuple[set[Path], pl.DataFrame | None]:
    """Files that are written anew, and their rows."""
    if not files:
        return set(), None
    versions: set[str | None] = set()
    types: dict[str, str] = {}
    for file in files:
        named = _values(file.relative_to(folder))
        inside = {name: str(dtype) for name, dtype in _scan(file).collect_schema().items()}
        types |= dict.fromkeys(named, "String") | inside
        if "schema_version" in inside:
            versions |= set(_scan(file).select("schema_version").collect().to_series().unique())
        elif "schema_version" in named:
            versions.add(named["schema_version"])
    narrow = min(files, key=lambda file: len(_scan(file).collect_schema()))
    least = set(_scan(narrow).collect_schema()) | set(_values(narrow.relative_to(folder)))
    types = {name: dtype for name, dtype in types.items() if name in least or name not in by}
    expected = {name: str(dtype) for name, dtype in job.table.schema.items()}
    missing_columns(job, types, expected, versions)
    stale = [column.name for column in job.table.columns if column.name not in least]
    if job.mode == "replace":
        return set(files), None
    whole = job.mode == "upsert" or bool(stale)
    changed = {file for file in files if whole or file.name == _name(job.run_id)}
    if not changed:
        return set(), None
    return changed, pl.concat(_read(file, folder, job.table) for file in sorted(changed))


def _scan(file: Path) -> pl.LazyFrame:
    """One file without its folders, whatever characters their names hold."""
    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


def _read(file: Path, folder: Path, table: Table) -> pl.DataFrame:
    part = _scan(file).collect()
    part = part.with_columns(
        pl.lit(value).alias(name) for name, value in _values(file.relative_to(folder)).items()
    )
    return part.select(
        pl.col(name) if name in part.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in table.schema.items()
    )


def _name(run_id: str) -> str:
    return f"run-{hashlib.sha256(run_id.encode()).hexdigest()[:16]}.parquet"


def _keep(folder: Path, draft: Path, changed: set[Path]) -> None:
    """Link what stays into the draft, whatever it is; copy where there are no links."""
    every = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    for file in sorted(set(every) - changed):
        place = draft / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, place)
        except OSError:
            shutil.copy2(file, place)


def _write_parts(made: pl.DataFrame, draft: Path, by: tuple[str, ...], table: Table) -> None:
    keys = dict.fromkeys((*by, "run_id"))
    for values, part in made.partition_by(*keys, as_dict=True, include_key=True).items():
        place = draft
        for name, value in zip(by, values, strict=False):
            if not value:
                raise ArgumentError(
                    f"partition_by {name!r}: an empty value makes no folder. Leave {name!r} out."
                )
            called = f"{name}={quote(str(value), safe=' ')}"
            if len(called) > LONGEST:
                raise ArgumentError(
                    f"partition_by {name!r}: the value {short(value)} makes the name of a folder "
                    f"of {len(called)} bytes, and {LONGEST} is the most. Choose another column."
                )
            place /= called
        place.mkdir(parents=True, exist_ok=True)
        file = place / _name(part["run_id"][0])
        part.drop(by).write_parquet(file, metadata=about(table))
        synced(file)
