"""Evaluation logs, one file or thousands, as one table of trials."""

from __future__ import annotations

import hashlib
import logging
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, SourceError, TrialframeError, named
from trialframe.read._frames import reason
from trialframe.read._known import log_format, recognised
from trialframe.read._log import Log, NoSuchScoreError, first_there
from trialframe.read._paths import EMPTY
from trialframe.read._spread import each
from trialframe.read._take import EXTRAS, MALFORMED, Take
from trialframe.schema import TRIALS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trialframe.read._log import LogFormat
    from trialframe.read._paths import DataFile

log = logging.getLogger("trialframe")

CUT_SHORT = "It may be cut short: write it again, or leave it out."

LOG_ENDINGS = ("JSON", "JSON lines", "Archive", "XML")
"""Formats of files, by their endings, that may be logs."""

AT_ONCE = 500
"""Small tables that are kept apart at most: each costs much more than its rows."""

TOLD = 20
"""Things that could not be read, named in the package's log at most."""

UNREAD = {"file": pl.String, "place": pl.String, "reason": pl.String}
"""The table of what could not be read."""

LEADING = (*(item.name for item in TRIALS), *EXTRAS)
"""Columns in the order in which they come out; those of one format follow."""

ALWAYS = ("config", "case", "trial", "passed", "outcome", "log")
"""Columns that stay even where all values are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How logs are to be read.

    Attributes:
        format: Name of the format; None to tell it from the files.
        metrics: Names of the score that decides: the first that a log has.
        threshold: Pass when score >= threshold.
        keep: What to do with files that are copies of each other.
        strict: Whether the first thing that cannot be read is an error.
        progress: Told after every log how many of how many are read.
    """

    format: str | None = None
    metrics: tuple[str, ...] = ()
    threshold: float | None = None
    keep: str = "raise"
    strict: bool = True
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The logs among some files.

    Attributes:
        logs: Files that are logs, with their format.
        others: Files that are none.
        unread: Files that could not be looked at: file, place and reason.
    """

    logs: tuple[tuple[DataFile, LogFormat], ...]
    others: tuple[DataFile, ...]
    unread: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """Logs as one table.

    Attributes:
        frame: A row a trial.
        unread: What could not be read: `file, place, reason`.
        fields: Where the columns come from.
    """

    frame: pl.DataFrame
    unread: pl.DataFrame
    fields: dict[str, Take] = field(default_factory=dict)


def found_in(files: Sequence[DataFile], choice: Choice) -> Found:
    """Tell which files are logs.

    Raises:
        SourceError: In strict reading, an archive cannot be opened.
    """
    forced = None if choice.format is None else log_format(choice.format)
    if choice.format is not None and forced is None:
        return Found(logs=(), others=tuple(files))
    logs, others = [], []
    unread: list[tuple[str, str, str]] = []
    unread += [(file.path, "", f"it {EMPTY}") for file in files if file.empty]
    files = [file for file in files if not file.empty]
    candidates = [file for file in files if file.format in LOG_ENDINGS and not file.remote]
    looked = dict(zip(candidates, each(_looked_at, candidates), strict=True))
    for file in files:
        kind = looked.get(file)
        if isinstance(kind, Exception):
            if choice.strict:
                raise kind
            unread.append((file.path, "", str(kind)))
        elif kind is not None and forced in {None, kind}:
            logs.append((file, kind))
        elif forced is not None and file.named:
            logs.append((file, forced))
        elif (
            forced is kind is None and file.format == "Archive" and not (file.named or file.remote)
        ):
            unknown = f"{named(file.path)} is no log that is known. {CUT_SHORT}"
            if choice.strict:
                raise SourceError(unknown)
            unread.append((file.path, "", unknown))
        else:
            others.append(file)
    return Found(logs=tuple(logs), others=tuple(others), unread=tuple(unread))


def _looked_at(file: DataFile) -> LogFormat | SourceError | None:
    try:
        return recognised(Path(file.path))
    except SourceError as error:
        return error
    except (OSError, ValueError) as error:
        return SourceError(f"cannot read {named(file.path)}: {reason(error)}.")


def read_logs(found: Found, choice: Choice) -> Logs:
    """Read every log and put them one below the other.

    Raises:
        SourceError: In strict reading, for the first thing that cannot be read.
        ArgumentError: A choice is missing: of a metric, or of a threshold.
    """
    unread = list(found.unread)
    _refuse_idle_metric([kind for _, kind in found.logs], choice)
    work = _without_copies(_selected(found.logs, choice, unread), choice, unread)
    lacking: list[NoSuchScoreError] = []
    frames: list[pl.DataFrame] = []
    reading = each(lambda item: _read_one(item[0], item[1], choice, lacking), work)
    with closing(reading) as done:
        for ready, ((path, _), (frame, skipped)) in enumerate(zip(work, done, strict=True), 1):
            if choice.progress is not None:
                choice.progress(ready, len(work))
            unread += [(str(path), place, why) for place, why in skipped]
            if frame is None:
                continue
            if not frame.height and not skipped and choice.strict:
                log.warning("%s holds no trials", named(path))
            elif not frame.height and not skipped:
                unread.append((str(path), "", "it holds no trials"))
            frames.append(frame)
            if len(frames) >= AT_ONCE:
                frames = [_stacked(frames)]
    if lacking and len(lacking) == len(work):
        raise lacking[0]
    table = _together(frames, choice)
    for file, place, why in unread[:TOLD]:
        log.warning("not read: %s%s: %s", named(file), f", {place}" if place else "", why)
    if len(unread) > TOLD:
        log.warning("not read: %d more", len(unread) - TOLD)
    takes = {take.column: take for _, kind in work for take in kind.fields}
    return Logs(
        frame=table,
        unread=pl.DataFrame(unread, schema=UNREAD, orient="row"),
        fields=takes,
    )


def _refuse_idle_metric(kinds: Sequence[LogFormat], choice: Choice) -> None:
    """Raise when a score was chosen, and logs of these kinds have one verdict."""
    if not choice.metrics or not kinds or any(kind.metric for kind in kinds):
        return
    raise ArgumentError(
        f"metric={choice.metrics[0]!r}: logs of {kinds[0].title} have one verdict a trial. "
        "Leave it out."
    )


def _selected(
    logs: Sequence[tuple[DataFile, LogFormat]],
    choice: Choice,
    unread: list[tuple[str, str, str]],
) -> list[tuple[Path, LogFormat]]:
    """Files that hold trials of their own, in the order of the source.

    Raises:
        SourceError: None does, in strict reading.
    """
    empty: list[tuple[str, Path, str]] = []
    kinds = list(dict.fromkeys(kind.name for _, kind in logs))
    kept: dict[Path, LogFormat] = {}
    for name in kinds:
        mine = [(Path(file.path), kind) for file, kind in logs if kind.name == name]
        kind = mine[0][1]
        chosen, left = kind.select([path for path, _ in mine])
        for path, why in left.items():
            level = logging.INFO if chosen else logging.WARNING
            log.log(level, "left out %s: %s", named(path), why)
        kept |= dict.fromkeys(chosen, kind)
        if not chosen and left:
            empty.append((kind.title, *next(iter(left.items()))))
    if not kept and empty:
        title, path, why = empty[0]
        if choice.strict:
            raise SourceError(f"no file of {title} here holds trials. {named(path)}: {why}.")
        unread += [(str(path), "", why) for _, path, why in empty]
    order = [Path(file.path) for file, _ in logs]
    return [(path, kept[path]) for path in order if path in kept]


def _without_copies(
    work: list[tuple[Path, LogFormat]],
    choice: Choice,
    unread: list[tuple[str, str, str]],
) -> list[tuple[Path, LogFormat]]:
    """Files of the same bytes are one run that was copied, not two runs.

    Raises:
        SourceError: There are some, in strict reading, and `keep` is "raise".
    """
    copies = _copies(work)
    if not copies or choice.keep == "all":
        return work
    if choice.keep == "raise":
        copy, original = next(iter(copies.items()))
        message = (
            f"{named(copy)} is a copy of {named(original)}, byte for byte, and its "
            'trials would count twice. Leave one out, or give keep="first".'
        )
        if choice.strict:
            raise SourceError(message)
        unread += [(str(path), "", f"a copy of {named(of)}") for path, of in copies.items()]
    return [(path, kind) for path, kind in work if path not in copies]


def _copies(work: list[tuple[Path, LogFormat]]) -> dict[Path, Path]:
    """Files of the same bytes as an earlier one, and that one."""
    sizes: dict[object, list[Path]] = {}
    for path, kind in work:
        with suppress(OSError):
            sizes.setdefault((path.stat().st_size, kind.identity(path)), []).append(path)
    copies: dict[Path, Path] = {}
    for paths in sizes.values():
        first: dict[bytes, Path] = {}
        for path in paths if len(paths) > 1 else ():
            with suppress(OSError), path.open("rb") as file:
                original = first.setdefault(hashlib.file_digest(file, "blake2b").digest(), path)
                if original != path:
                    copies[path] = original
    return copies


def _read_one(
    path: Path, kind: LogFormat, choice: Choice, lacking: list[NoSuchScoreError]
) -> tuple[pl.DataFrame | None, list[tuple[str, str]]]:
    """One log; in lenient reading whatever is wrong with it is reported, not raised."""
    wrong: TrialframeError
    source = Log(path=path, threshold=choice.threshold, strict=choice.strict)
    try:
        return first_there(choice.metrics, lambda name: kind.read(source.by(name))), source.unread
    except NoSuchScoreError as error:  # it may be there in other logs
        lacking.append(error)
        wrong = error
    except ArgumentError:
        raise
    except TrialframeError as error:
        here = str(path) in str(error)
        wrong = error if here else SourceError(f"{named(path)}: {error}")
    except OSError as error:
        wrong = SourceError(f"cannot read {named(path)}: {reason(error)}.")
    except MALFORMED as error:
        # A log of a shape that no version of the tool writes.
        wrong = SourceError(
            f"{named(path)} is no {kind.title} log that can be read: "
            f"{type(error).__name__}: {reason(error)}. Leave it out, or name another format=."
        )
        wrong.__cause__ = error
    if choice.format is not None and not isinstance(wrong, NoSuchScoreError):
        asked = SourceError(f"{wrong} It was read as format={choice.format!r}, which may be wrong.")
        asked.__cause__ = wrong
        wrong = asked
    if choice.strict:
        raise wrong
    return None, [*source.unread, ("", str(wrong))]


def _together(frames: Sequence[pl.DataFrame], choice: Choice) -> pl.DataFrame:
    """Logs one below the other, canonical columns first; columns without any value are left out."""
    always = ALWAYS if choice.threshold is None else (*ALWAYS, "score")
    if not frames:
        empty = {item.name: item.dtype for item in TRIALS if item.name in ALWAYS}
        return pl.DataFrame(schema=empty | {"log": pl.String})
    table = _stacked(frames)
    if "trial" not in table.columns:
        table = table.with_columns(trial=pl.lit(None, pl.Int64))
    known = {
        item.name: item
        for item in table.get_columns()
        if item.name in always or item.null_count() < table.height
    }
    leading = [known.pop(name) for name in LEADING if name in known]
    return pl.DataFrame([*leading, *known.values()])


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables one below the other, in one piece of memory."""
    if len(frames) == 1:
        return frames[0].rechunk()
    return pl.concat(_agreeing(frames), how="diagonal_relaxed").rechunk()


def _agreeing(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Frames whose further columns have one type each: text where files differ."""
    types: dict[str, set[Any]] = {}
    for frame in frames:
        for name, dtype in frame.schema.items():
            types.setdefault(name, set()).add(dtype)
    numbers = {pl.Int64, pl.Float64}
    mixed = [n for n, t in types.items() if len(t) > 1 and not t <= numbers]
    if not mixed:
        return list(frames)
    return [
        frame.with_columns(pl.col([n for n in mixed if n in frame.columns]).cast(pl.String))
        for frame in frames
    ]
