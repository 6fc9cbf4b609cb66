"""Files and folders that change in one step, one export at a time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import uuid
from typing import TYPE_CHECKING

from trialframe.export.targets import refuse_missing_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
HERE = -100  # AT_FDCWD


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock beside a file or folder; others wait.

    The lock belongs to the open file, so it ends with the process, however that ends. The file
    is removed in the end, so whoever waited looks whether the lock is still the one in place.
    """
    lock = beside(path, "lock")
    refuse_missing_folder(path)
    while True:
        file = lock.open("ab")
        _wait_for(file)
        with contextlib.suppress(FileNotFoundError):
            if lock.stat().st_ino == os.fstat(file.fileno()).st_ino:
                break
        file.close()
    try:
        for stale in path.parent.glob(f"{_escaped(beside(path, ''))}*.tmp*"):
            _remove(stale)  # left by an export that was killed: nobody else holds the lock
        yield
    finally:
        lock.unlink(missing_ok=True)
        file.close()


def _wait_for(file: IO[bytes]) -> None:
    if sys.platform == "win32":  # pragma: no cover
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _escaped(path: Path) -> str:
    from glob import escape

    return escape(path.name)


def beside(path: Path, ending: str) -> Path:
    """A hidden name in the same folder."""
    return path.with_name(f".{path.name[:200]}.{ending}")


def draft_of(path: Path) -> Path:
    """A new hidden name in the same folder, which the next export clears away."""
    return beside(path, f"{uuid.uuid4().hex[:12]}.tmp")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` when all went well, after it is on disk."""
    draft = draft_of(path)
    try:
        yield draft
        synced(draft)
        os.replace(draft, path)  # noqa: PTH105 - the step that counts, named as the system does
        synced(path.parent)
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)  # of a DuckDB draft


def synced(path: Path) -> None:
    """Wait until a file or the names in a folder are on disk."""
    if sys.platform == "win32" and path.is_dir():  # pragma: no cover
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def put_in_place(draft: Path, folder: Path) -> None:
    """Make a whole new folder take the place of an old one.

    On Linux both names are exchanged in one step. Elsewhere the old folder steps aside for the
    time between two renames; `restore` brings it back if the export was killed just then.
    """
    if not folder.exists():
        os.replace(draft, folder)  # noqa: PTH105
    elif not _exchanged(draft, folder):
        aside = beside(folder, "old")
        os.replace(folder, aside)  # noqa: PTH105
        os.replace(draft, folder)  # noqa: PTH105
        draft = aside
    synced(folder.parent)
    _remove(draft)


def restore(folder: Path) -> None:
    """Finish what a killed export left between the two renames of `put_in_place`."""
    aside = beside(folder, "old")
    if aside.exists() and not folder.exists():
        os.replace(aside, folder)  # noqa: PTH105
    _remove(aside)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(call(HERE, os.fsencode(first), HERE, os.fsencode(second), EXCHANGE) == 0)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
