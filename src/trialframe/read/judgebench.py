"""JudgeBench: pairs of answers that a judge saw in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from trialframe.read._outline import Head

TURNED = {"A>B": "B>A", "B>A": "A>B"}
"""A verdict on the pair in the other order; a tie stays a tie."""

FIELDS = (
    Take(column="config", path="", note="judge_name/judge_model: the judge is what is tested"),
    Take(column="case", path="pair_id"),
    Take(column="trial", path="", note="0 for the order as it is, 1 for the answers swapped"),
    Take(column="passed", path="", note="decision is the label; a tie is wrong, null not scored"),
    Take(column="outcome", path="", note="scorer_error where there is no decision"),
    Take(column="label", path="", note="whether answer A is better"),
    Take(column="judge", path="", note="whether the judge says so; null for a tie"),
    Take(column="cluster", path="original_id", note="pairs of one question"),
    Take(column="task", path="source"),
    Take(column="decision", path="", note="A>B, B>A or A=B, swapped back"),
    Take(column="response_model", path="response_model"),
)


def recognise(head: Head) -> bool:
    """Lines with two judgments of a labelled pair."""
    return head.has("pair_id", "label", "judgments", "response_A", "response_B")


def read(log: Log) -> pl.DataFrame:
    """All pairs of a file, a row for each judgment."""
    return log.table(_records(log), FIELDS)


def _records(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, pair in log.objects():
        place = f"line {number}"
        judgments, label = pair.get("judgments"), pair.get("label")
        if not isinstance(judgments, list) or label not in TURNED or len(judgments) > 2:
            log.skip(place, "a label A>B or B>A and at most two judgments are needed.")
            continue
        source = f"{pair.get('source')}/{pair.get('original_id')}"
        for trial, judgment in enumerate(judgments):
            yield place, {**pair, "original_id": source, **_judged(pair, trial, judgment)}


def _judged(pair: Mapping[str, Any], trial: int, judgment: Any) -> dict[str, Any]:
    decision = at(judgment, "decision")
    turned = TURNED.get(decision, decision) if trial == 1 else decision
    names = (pair.get("judge_name"), at(judgment, "judgment.judge_model"))
    return {
        "config": "/".join(str(name) for name in names if name) or None,
        "trial": trial,
        "decision": turned,
        "passed": None if decision is None else turned == pair["label"],
        "outcome": "scorer_error" if decision is None else "completed",
        "label": pair["label"] == "A>B",
        "judge": {"A>B": True, "B>A": False}.get(str(turned)),
    }


FORMAT = LogFormat(
    name="judgebench",
    title="JudgeBench",
    files="*.jsonl of outputs",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="place in judgments, from 0: the order of the answers",
)
