"""Files of Inspect AI: what holds for the run, and its samples without what was said in them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from trialframe.errors import SourceError, named, short
from trialframe.read import _bounded
from trialframe.read._archive import Archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trialframe.read._log import Log

WIDEST = 400
"""Characters of metadata at most; longer texts tell no groups."""

Place = Callable[[int], str]

Made = TypeVar("Made", bound=msgspec.Struct)

logger = logging.getLogger("trialframe")

START = "_journal/start.json"
HEADER = "header.json"
SUMMARIES = "summaries.json"
JOURNAL = "_journal/summaries/"
SAMPLES = "samples/"


class Score(msgspec.Struct, kw_only=True, gc=False):
    """What one scorer says of a sample."""

    value: Any = None
    reason: Any = None
    metadata: Any = None


class Usage(msgspec.Struct, kw_only=True, gc=False):
    """What one model was asked and said."""

    input_tokens: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None
    total_cost: Any = None


class Sample(msgspec.Struct, kw_only=True, gc=False):
    """What a summary holds of a sample, without what was asked and said."""

    id: Any = None
    epoch: Any = None
    scores: dict[str, Score | None] | None = None
    metadata: Any = None
    model_usage: dict[str, Usage] | None = None
    role_usage: dict[str, Usage] | None = None
    started_at: Any = None
    total_time: Any = None
    working_time: Any = None
    invalidation: Any = None
    error: Any = None
    limit: Any = None
    retries: Any = None


_ROWS = msgspec.json.Decoder(list[Sample])
"""Reads summaries without the parts that nobody wants, and with little for the collector to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One log.

    Attributes:
        header: What holds for all samples: eval, plan, status, results.
        samples: Summaries of the samples.
        place: Where a sample is in the file, by its position among them.
    """

    header: Mapping[str, Any]
    samples: Sequence[Sample]
    place: Place

    def only(self, rows: Sequence[int]) -> Run:
        """The run with some of its samples."""
        samples = [self.samples[row] for row in rows]
        return replace(self, samples=samples, place=lambda row: self.place(rows[row]))


def run_of(log: Log) -> Run:
    """The run in a file, whichever of the two forms it has.

    Raises:
        SourceError: It is no log of Inspect.
    """
    if _bounded.head(log.path, 4) == b"PK\x03\x04":
        with Archive(log.path) as archive:
            run = _of_archive(log, archive)
    else:
        header = _object(log, log.json(), "the document")
        rows = list(log.items(header.pop("samples", None) or [], "samples"))
        samples = [light(row, header) for _, row in rows]
        places = [f"samples[{number}]" for number, _ in rows]
        run = Run(header=header, samples=samples, place=places.__getitem__)
    _object(log, run.header.get("eval"), "eval")
    return _latest(log, run)


def _object(log: Log, value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise SourceError(
        f"{named(log.path)} is no Inspect log: {place} is {short(value)} where an object is "
        "needed. Leave it out, or name another format=."
    )


def _of_archive(log: Log, archive: Archive) -> Run:
    """The header, and summaries; where these do not hold enough, then the samples themselves."""
    names = archive.names
    if HEADER in names:
        header = _object(log, archive.json(HEADER), HEADER)
    else:  # the run was killed, or still goes on
        header = _object(log, archive.json(START), START) | {"status": "started"}
    journal = [name for name in names if name.startswith(JOURNAL)]
    journal.sort(key=lambda name: (len(name), name))  # 2.json before 10.json
    samples, place = _summaries(log, archive, [SUMMARIES] if SUMMARIES in names else journal)
    enough = _enough(header, samples)
    known = {f"{SAMPLES}{row.id}_epoch_{row.epoch}.json" for row in samples if enough}
    others = set(names) - known
    wanted = [name for name in names if name in others and name.startswith(SAMPLES)]
    if wanted:
        whole = list(_whole(log, archive, wanted, header))
        places = [*map(place, range(len(samples))), *(member for member, _ in whole)]
        place = places.__getitem__
        samples = [*samples, *(sample for _, sample in whole)]
    return Run(header=header, samples=samples, place=place)


def _summaries(
    log: Log, archive: Archive, members: Iterable[str]
) -> tuple[Sequence[Sample], Place]:
    found: list[tuple[Sequence[Sample], Place]] = []
    for member in members:
        try:
            found.append(_rows(log, archive.read(member), member))
        except SourceError as error:
            log.skip(member, str(error))  # the samples themselves may still be there
    if len(found) == 1:
        return found[0]
    places = [place(row) for samples, place in found for row in range(len(samples))]
    return [sample for samples, _ in found for sample in samples], places.__getitem__


def _rows(log: Log, data: bytes, member: str) -> tuple[Sequence[Sample], Place]:
    try:
        return _bounded.decoded(data, _ROWS), lambda row: f"{member}[{row}]"
    except (msgspec.MsgspecError, RecursionError):
        rows = list(log.items(_bounded.parsed(data, f"{log.path}: {member}"), member))
        return [_sample(row) for _, row in rows], lambda row: f"{member}[{rows[row][0]}]"


def _sample(row: Mapping[str, Any]) -> Sample:
    """A sample from any JSON: what has the shape of no version stays as it is."""
    sample = _made(Sample, row)
    sample.scores = _each(Score, sample.scores)
    sample.model_usage = _each(Usage, sample.model_usage)
    sample.role_usage = _each(Usage, sample.role_usage)
    return sample


def _brief(metadata: Any) -> Any:
    """Metadata without what tells no groups: samples are many, and what is said in them is long."""
    if not isinstance(metadata, dict):
        return metadata
    return {
        name: value[: WIDEST + 1] if isinstance(value, str) else value
        for name, value in metadata.items()
        if not isinstance(value, dict | list)
    }


def _made(kind: type[Made], row: Mapping[str, Any]) -> Made:
    return kind(**{name: row.get(name) for name in kind.__struct_fields__})


def _each(kind: type[Made], found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    return {n: _made(kind, row) if isinstance(row, dict) else row for n, row in found.items()}


def _whole(
    log: Log, archive: Archive, members: Iterable[str], header: Mapping[str, Any]
) -> Iterator[tuple[str, Sample]]:
    for member in members:
        try:
            sample = _object(log, archive.json(member), member)
        except SourceError as error:
            log.skip(member, str(error))
        else:
            yield member, light(sample, header)


def _enough(header: Mapping[str, Any], samples: Sequence[Sample]) -> bool:
    """Whether summaries hold verdicts and usage: those of old versions, and of some runs, do not.

    Nor do they say which samples somebody declared invalid later.
    """
    used = any(sample.model_usage is not None for sample in samples)
    if header.get("invalidated") or not used:
        return False
    wanted = (header.get("results") or {}).get("scores")
    return not wanted or any(sample.scores for sample in samples)


def light(row: Mapping[str, Any], header: Mapping[str, Any]) -> Sample:
    """A whole sample as its summary."""
    sample = _sample(row)
    sample.metadata = _brief(sample.metadata)
    error, limit, retries = row.get("error"), row.get("limit"), row.get("error_retries")
    sample.error = error.get("message") if isinstance(error, dict) else error
    sample.limit = limit.get("type") if isinstance(limit, dict) else limit
    if sample.invalidation and not error:
        sample.error = _declared(sample.invalidation)
    sample.retries = len(retries) if isinstance(retries, list) else None
    if "score" in row and "scores" not in row:  # version 1, which had one scorer
        results = header.get("results") or {}
        scorer = results.get("scorer") or next(iter(results.get("scores") or []), None) or {}
        sample.scores = _each(Score, {scorer.get("name") or "score": row["score"]})
    return sample


def _declared(invalidation: Any) -> str:
    """Who took a sample out, and why."""
    found = invalidation if isinstance(invalidation, dict) else {}
    return f"invalidated by {found.get('author')}: {found.get('reason')}"


def _latest(log: Log, run: Run) -> Run:
    """A sample that ran again is written again, and as in Inspect the last one counts."""
    if _alone([sample.id for sample in run.samples], [sample.epoch for sample in run.samples]):
        return run
    kept: dict[tuple[type, str, str], int] = {}
    again = 0
    for row, sample in enumerate(run.samples):
        name, epoch = sample.id, sample.epoch
        if name is None or epoch is None:
            log.skip(run.place(row), "it has no id or no epoch, so it is no sample")
        else:
            key = (type(name), str(name), str(epoch))
            again += key in kept
            kept[key] = row
    if again:
        text = "%s: %d samples ran again or are there twice; as in Inspect, the last one counts"
        logger.warning(text, named(log.path), again)
    return run.only(list(kept.values()))


def _alone(names: Sequence[Any], epochs: Sequence[Any]) -> bool:
    """Whether every sample is there once, where that is plain to see."""
    kinds = {*map(type, names)}
    plain = kinds in ({str}, {int}) and {*map(type, epochs)} == {int}
    return plain and len({*zip(names, epochs, strict=True)}) == len(names)
