"""Files of Inspect AI: what holds for the run, and its samples without what was said in them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, short
from trialframe.read import _bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trialframe.read._log import Log

    Placed = tuple[str, dict[str, Any]]

logger = logging.getLogger("trialframe")

START = "_journal/start.json"
HEADER = "header.json"
SUMMARIES = "summaries.json"
JOURNAL = "_journal/summaries/"
SAMPLES = "samples/"

LIGHT = (
    "id",
    "epoch",
    "scores",
    "metadata",
    "model_usage",
    "role_usage",
    "started_at",
    "total_time",
    "working_time",
    "invalidation",
)
"""What is kept of a whole sample as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One log.

    Attributes:
        header: What holds for all samples: eval, plan, status, results.
        samples: Summaries of the samples, each with its place in the file.
    """

    header: Mapping[str, Any]
    samples: Sequence[Placed]


def run_of(log: Log) -> Run:
    """The run in a file, whichever of the two forms it has.

    Raises:
        SourceError: It is no log of Inspect.
    """
    if _bounded.head(log.path, 4) == b"PK\x03\x04":
        with _bounded.Archive(log.path) as archive:
            header, samples = _of_archive(log, archive)
    else:
        header = _object(log, log.json(), "the document")
        rows = log.items(header.pop("samples", None) or [], "samples")
        samples = [(f"samples[{number}]", light(row, header)) for number, row in rows]
    _object(log, header.get("eval"), "eval")
    return Run(header=header, samples=list(_latest(log, samples)))


def _object(log: Log, value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise SourceError(
        f"{short(str(log.path))} is no Inspect log: {place} is {short(value)} where an object is "
        "needed. Leave it out, or name another format=."
    )


def _of_archive(log: Log, archive: _bounded.Archive) -> tuple[dict[str, Any], list[Placed]]:
    """The header, and summaries; where these do not hold enough, then the samples themselves."""
    names = archive.names
    if HEADER in names:
        header = _object(log, archive.json(HEADER), HEADER)
    else:  # the run was killed, or still goes on
        header = _object(log, archive.json(START), START) | {"status": "started"}
    journal = [name for name in names if name.startswith(JOURNAL)]
    journal.sort(key=lambda name: (len(name), name))  # 2.json before 10.json
    samples = _summaries(log, archive, [SUMMARIES] if SUMMARIES in names else journal)
    enough = _enough(header, [sample for _, sample in samples])
    known = {f"{SAMPLES}{row.get('id')}_epoch_{row.get('epoch')}.json" for _, row in samples}
    wanted = [n for n in names if n.startswith(SAMPLES) and not (enough and n in known)]
    samples += _whole(log, archive, wanted, header)
    return header, samples


def _summaries(log: Log, archive: _bounded.Archive, members: Iterable[str]) -> list[Placed]:
    samples: list[Placed] = []
    for member in members:
        try:
            rows = log.items(archive.json(member), member)
            samples += [(f"{member}[{number}]", row) for number, row in rows]
        except SourceError as error:
            log.skip(member, str(error))  # the samples themselves may still be there
    return samples


def _whole(
    log: Log, archive: _bounded.Archive, members: Iterable[str], header: Mapping[str, Any]
) -> Iterator[Placed]:
    for member in members:
        try:
            sample = _object(log, archive.json(member), member)
        except SourceError as error:
            log.skip(member, str(error))
        else:
            yield member, light(sample, header)


def _enough(header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> bool:
    """Whether summaries hold verdicts and usage: those of old versions, and of some runs, do not.

    Nor do they say which samples somebody declared invalid later.
    """
    if header.get("invalidated") or not any("model_usage" in sample for sample in samples):
        return False
    wanted = (header.get("results") or {}).get("scores")
    return not wanted or any(sample.get("scores") for sample in samples)


def light(sample: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    """A whole sample as its summary."""
    made = {name: sample[name] for name in LIGHT if name in sample}
    error, limit = sample.get("error"), sample.get("limit")
    made["error"] = error.get("message") if isinstance(error, dict) else error
    made["limit"] = limit.get("type") if isinstance(limit, dict) else limit
    if sample.get("invalidation") and not error:
        made["error"] = _declared(sample["invalidation"])
    retries = sample.get("error_retries")
    made["retries"] = len(retries) if isinstance(retries, list) else None
    if "score" in sample and "scores" not in sample:  # version 1, which had one scorer
        results = header.get("results") or {}
        scorer = results.get("scorer") or next(iter(results.get("scores") or []), None) or {}
        made["scores"] = {scorer.get("name") or "score": sample["score"]}
    return made


def _declared(invalidation: Any) -> str:
    """Who took a sample out, and why."""
    found = invalidation if isinstance(invalidation, dict) else {}
    return f"invalidated by {found.get('author')}: {found.get('reason')}"


def _latest(log: Log, samples: Iterable[Placed]) -> Iterable[Placed]:
    """A sample that ran again is written again, and as in Inspect the last one counts."""
    kept: dict[tuple[type, str, str], Placed] = {}
    again = 0
    for place, sample in samples:
        name, epoch = sample.get("id"), sample.get("epoch")
        if name is None or epoch is None:
            log.skip(place, "it has no id or no epoch, so it is no sample")
        else:
            key = (type(name), str(name), str(epoch))
            again += key in kept
            kept[key] = (place, sample)
    if again:
        text = "%s: %d samples ran again or are there twice; as in Inspect, the last one counts"
        logger.warning(text, short(str(log.path)), again)
    return kept.values()
