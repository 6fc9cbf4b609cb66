"""Whether a table that is there can take rows of this version of its contract."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trialframe.errors import ExportError, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trialframe.export.job import Job
    from trialframe.schema import Column

ANEW = "Write it anew with mode='replace', or choose another target or name."


def missing_columns(
    job: Job,
    existing: Mapping[str, str],
    expected: Mapping[str, str],
    versions: Iterable[str | None],
) -> list[Column]:
    """The columns to add to a table before it can take the rows.

    Args:
        job: The export.
        existing: Name and type of the columns that are there, in words of the target.
        expected: The same as the contract has them, in the same words.
        versions: Distinct `schema_version` of the rows that are there.

    Returns:
        Nullable columns of a later minor version; empty when the table fits.

    Raises:
        ExportError: The table is no table of this package, or of another version, or has other
            columns or types.
    """
    where = f"{job.target.shown}: the table {'.'.join(job.name)}"
    if not {"schema_version", "run_id", "settings_hash"} <= set(existing):
        raise ExportError(
            f"{where} was not made by an export: it has the columns {listed(existing)}. Nothing "
            "was written. Choose another target or name."
        )
    if job.mode == "replace":
        return []
    absent = [column for column in job.table.columns if column.name not in existing]
    older = _checked_versions(job, where, sorted({str(version) for version in versions}))
    changed = [
        f"{name!r} is {existing[name] or 'without a type'}, not {dtype or 'without a type'}"
        for name, dtype in expected.items()
        if name in existing and existing[name] != dtype
    ]
    foreign = [name for name in existing if name not in expected]
    barred = [column.name for column in absent if not column.nullable or not older]
    reasons = [f"columns that {job.table.name} does not have: {listed(foreign)}"] if foreign else []
    reasons += [f"no {listed(barred)}"] if barred else []
    reasons += ["; ".join(changed)] if changed else []
    if reasons:
        raise ExportError(
            f"{where} does not fit version {job.table.version} of {job.table.name}: "
            f"{'; '.join(reasons)}. Nothing was written. {ANEW}"
        )
    return absent


def _checked_versions(job: Job, where: str, versions: list[str]) -> bool:
    """Whether the rows are of an older minor version, or there are none."""
    own = _numbers(job.table.version)
    for text in versions:
        found = _numbers(text)
        if found is None or own is None or found[0] != own[0]:
            raise ExportError(
                f"{where} holds rows of schema version {text!r}, this is {job.table.version}: "
                f"columns mean different things. Nothing was written. {ANEW}"
            )
        if found > own:
            raise ExportError(
                f"{where} holds rows of schema version {text}, newer than {job.table.version}: "
                "upgrade trialframe, or choose another target or name. Nothing was written."
            )
    return not versions or any(_numbers(text) != own for text in versions)


def _numbers(version: str) -> tuple[int, int] | None:
    found = re.fullmatch(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None
