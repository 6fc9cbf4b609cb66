"""AlpacaEval: annotations that prefer one of two outputs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trialframe.read._outline import Head

FIELDS = (
    Take(column="config", path="generator_2"),
    Take(column="case", path="", note="hash of dataset and instruction, which have no id"),
    Take(column="trial", path="", note="0: annotations of one output are no trials"),
    Take(column="trial_made", path="", note="true: the log numbers no trials"),
    Take(
        column="passed",
        path="",
        note="the output was preferred: preference > 1.5; a draw is neither, and null",
    ),
    Take(column="score", path="", note="preference - 1, the chance to be preferred; 0.5 in a draw"),
    Take(column="outcome", path="", note="scorer_error where there is no preference"),
    Take(column="task", path="dataset"),
    Take(column="baseline", path="generator_1"),
    Take(column="annotator", path="annotator"),
    Take(column="preference", path="preference", dtype=pl.Float64, note="1 to 2; 0 is a draw"),
    Take(
        column="judge_cost_uusd",
        path="price_per_example",
        factor=1e6,
        dtype=pl.Int64,
        note="of the annotator",
    ),
    Take(column="instruction", path="instruction", made=lambda text: clipped(text, 200)),
)


def recognise(head: Head) -> bool:
    """A list of annotated pairs."""
    return head.has("[].preference", "[].generator_1", "[].generator_2", "[].instruction")


def read(log: Log) -> pl.DataFrame:
    """All annotations of a file."""
    seen: dict[tuple[str, str], int] = {}
    records = log.records(log.json(), "annotations", lambda _, row: _record(log, row, seen))
    return log.table(records, FIELDS)


def _record(
    log: Log, row: Mapping[str, Any], seen: dict[tuple[str, str], int]
) -> Mapping[str, Any]:
    text = f"{row.get('dataset')}\n{row['instruction']}"
    case = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    # The set has instructions twice; an annotator who sees one twice sees two cases.
    key = (case, f"{row.get('generator_1')} {row.get('generator_2')} {row.get('annotator')}")
    seen[key] = seen.get(key, 0) + 1
    score = _score(row.get("preference"))
    passed = None if score in (None, 0.5) else score > 0.5
    if log.threshold is not None and score is not None:
        passed = score >= log.threshold
    return {
        **row,
        "trial": 0,
        "trial_made": True,
        "case": case if seen[key] == 1 else f"{case}-{seen[key]}",
        "score": score,
        "passed": passed,
        "outcome": "scorer_error" if score is None else "completed",
    }


def _score(preference: Any) -> float | None:
    """The chance that the second output is preferred."""
    if preference is None:
        return None
    if preference == 0:
        return 0.5
    if isinstance(preference, bool) or not 1 <= preference <= 2:
        raise ValueError(f"preference is {preference!r}, and 0, or 1 to 2, is needed")
    return float(preference) - 1.0


FORMAT = LogFormat(
    name="alpaca-eval",
    title="AlpacaEval",
    files="annotations.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="0, as one output was annotated",
)
