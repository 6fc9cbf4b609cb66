"""Inspect AI: runs of samples by epochs, as .eval archives or .json documents."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, listed, short
from trialframe.read._inspect_file import HEADER, START, SUMMARIES, run_of
from trialframe.read._log import Log, LogFormat
from trialframe.read._take import LARGEST, Take, as_text, clipped, constant, scalars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from trialframe.read._inspect_file import Run
    from trialframe.read._outline import Head

logger = logging.getLogger("trialframe")

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
YES_OR_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

LIMITS = {"time": "timeout", "working": "timeout", "operator": "cancelled"}
REASONS = {
    "refusal": "refused",
    "no_response": "agent_error",
    "invalid_response_format": "agent_error",
    "grader_failed": "scorer_error",
    "scoring_failed": "scorer_error",
}

GENERATE = ("temperature", "top_p", "top_k", "max_tokens", "reasoning_effort", "reasoning_tokens")
"""Settings of the model that tell systems apart."""

KINDS = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64}

REMOVED = "Key removed from summary"
"""What stands in a summary in place of long metadata."""

WIDEST = 400
"""Characters of metadata at most; longer texts tell no groups."""

RUN = (
    Take(column="config", path="eval.model"),
    Take(column="task", path="eval.task"),
    Take(column="seed", path="generate.seed", note="one for the whole run"),
    Take(column="run_id", path="eval.run_id"),
    Take(column="run_status", path="status", note="success, error, cancelled or started"),
    Take(column="solver", path="", note="eval.solver, else the steps of the plan"),
    Take(column="dataset", path="eval.dataset.name"),
    Take(column="model_roles", path="eval.model_roles", made=lambda roles: roles or None),
    Take(column="scorer", path="", note="the scorer that decides, or SCORER.KEY"),
)
"""Columns with one value in a log."""

SAMPLE = (
    Take(column="case", path="", note='task/id; the text "7" keeps its quotes beside a number 7'),
    Take(column="trial", path="samples[].epoch"),
    Take(column="score", path="", note="scores.SCORER.value by Inspect's value_to_float"),
    Take(column="outcome", path="", note="from error, limit and the reason of the score"),
    Take(column="error", path="samples[].error", made=clipped),
    Take(column="tokens_in", path="", note="with cached ones; all models but the role grader"),
    Take(column="tokens_out", path="", note="all models but the role grader"),
    Take(column="cost_uusd", path="", factor=1e6, note="all models but the role grader"),
    Take(column="duration_ms", path="samples[].total_time", factor=1e3),
    Take(column="started_at", path="samples[].started_at"),
    Take(column="grade", path="", note="the score as it was given, where it is a word"),
    Take(column="reason", path="", note="why a score is not as usual"),
    Take(column="limit", path="samples[].limit"),
    Take(column="retries", path="samples[].retries", dtype=pl.Int64),
    Take(
        column="working_ms",
        path="samples[].working_time",
        factor=1e3,
        dtype=pl.Int64,
        note="without waiting for models and machines",
    ),
)
"""Columns with a value a sample."""

PASSED = Take(
    column="passed",
    path="",
    note="words: score >= 1, so that P and N fail; numbers: 0 and 1, or threshold=",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decides:
    """The score that decides: all of a scorer's value, or one part of it."""

    scorer: str
    part: str | int | None = None

    def of(self, sample: Mapping[str, Any]) -> tuple[Any, str | None]:
        """Value and reason of a sample's score; None where there is none.

        Raises:
            ValueError: The value has another shape than in the other samples.
        """
        score = (sample.get("scores") or {}).get(self.scorer)
        if score is None:
            return None, None
        value = score.get("value")
        if self.part is not None and value is not None:
            value = self._part(value)
        if isinstance(value, dict | list):
            message = f"the score {self.scorer} is {short(value)} where one value is needed"
            raise ValueError(message)  # noqa: TRY004 - one kind of error for all values
        return value, score.get("reason") or (score.get("metadata") or {}).get("unscored_reason")

    def _part(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value.get(self.part)
        if isinstance(value, list) and isinstance(self.part, int):
            return value[self.part] if self.part < len(value) else None
        raise ValueError(f"the score {self.scorer} is {short(value)} and has no {self.part!r}")


def recognise(head: Head) -> bool:
    """An archive with a journal or a header, or one document with an eval."""
    if head.first and head.first != START:  # packed again, in another order
        return head.members() >= {START} or head.members() >= {HEADER, SUMMARIES}
    if head.first:
        return True
    return head.has("status", "eval.task", "eval.created")


def read(log: Log) -> pl.DataFrame:
    """One run."""
    run = run_of(log)
    if not run.samples:
        status = short(run.header.get("status"))
        logger.warning("%s holds no samples, its status is %s", short(str(log.path)), status)
    name, decides = _decides(log, run)
    scored = list(_scored(log, run, decides))
    if log.threshold is None and not any(is_number(value) for _, _, value, _ in scored):
        log = replace(log, threshold=1.0)  # what counts in Inspect's own pass_at and at_least
    frame = log.table(_records(log, run, scored), SAMPLE, extras=_metadata)
    about = _about(run.header) | {"scorer": name}
    run_wide = {take.column: (take.value(about), take.kind) for take in RUN} | _settings(about)
    made = [constant(n, v, dtype, frame.height) for n, (v, dtype) in run_wide.items()]
    kept = [item for item in frame if item.name not in run_wide and not _is_prose(item)]
    return pl.DataFrame(kept + made)


def value_to_float(value: Any) -> float | None:
    """A score as Inspect's own metrics count it; None for what is not scored.

    Letters are C 1, P 0.5, I and N 0; yes and no, true and false are 1 and 0; text that is a
    number is that number, and any other text counts 0.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        try:
            return float(value)
        except OverflowError:  # more digits than a float has
            return None
    if value in LETTERS:
        return LETTERS[value]
    if value.lower() in YES_OR_NO:
        return YES_OR_NO[value.lower()]
    return float(value) if is_number(value) else 0.0


def is_number(value: Any) -> bool:
    """Whether a score is a number, or text that is one."""
    if isinstance(value, str):
        try:
            return math.isfinite(float(value))
        except ValueError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decides(log: Log, run: Run) -> tuple[str | None, Decides | None]:
    """The score that decides, chosen among those of the samples and of the header."""
    found: dict[str, Decides] = {}
    bare: list[str] = []
    for _, sample in run.samples:
        scores = sample.get("scores")
        for scorer, score in scores.items() if isinstance(scores, dict) else ():
            value = score.get("value") if isinstance(score, dict) else None
            if isinstance(value, dict | list):
                for part in value if isinstance(value, dict) else range(len(value)):
                    found[f"{scorer}.{part}"] = Decides(scorer=scorer, part=part)
            elif value is None:
                bare.append(scorer)
            else:
                found[scorer] = Decides(scorer=scorer)
    scorers = {item.scorer for item in found.values()}
    found |= {name: Decides(scorer=name) for name in bare if name not in scorers}
    scorers |= set(bare)
    for scorer, parts in _scorers(run.header):
        if scorer not in scorers:
            wanted = (log.metric or "").removeprefix(f"{scorer}.")  # none of the parts is known
            every = {*parts, wanted} if log.metric == f"{scorer}.{wanted}" else parts
            found |= {f"{scorer}.{part}": Decides(scorer=scorer, part=part) for part in every}
            found |= {} if every else {scorer: Decides(scorer=scorer)}
    parts = [name for name, item in found.items() if item.scorer == log.metric]
    if parts and log.metric not in found:
        raise ArgumentError(
            f"metric={log.metric!r}: in {short(str(log.path))} it has the parts {listed(parts)}. "
            f"Choose the one that decides, for example metric={parts[0]!r}."
        )
    name = log.chosen(found, "scorer", _headline(run.header, found))
    return name, None if name is None else found[name]


def _scorers(header: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The task's scorers and their parts, for those that gave no score to any sample."""
    for row in header["eval"].get("scorers") or []:
        metrics = row.get("metrics")
        groups = metrics if isinstance(metrics, list) else [metrics]
        parts = [part for group in groups if isinstance(group, dict) for part in group]
        known = [part for part in parts if part not in {"name", "options"} and "*" not in part]
        yield str(row.get("name")).rpartition("/")[2], known


def _headline(header: Mapping[str, Any], names: Mapping[str, Any]) -> str | None:
    """The score that the task itself declares to be its headline."""
    declared = header["eval"].get("headline_metric") or {}
    scorer, score = str(declared.get("scorer")), str(declared.get("score"))
    return next((n for n in (f"{scorer}.{score}", score, scorer) if n in names), None)


def _scored(
    log: Log, run: Run, decides: Decides | None
) -> Iterator[tuple[str, dict[str, Any], Any, str | None]]:
    """Samples with the value and the reason of the score that decides."""
    for place, sample in run.samples:
        try:
            value, reason = (None, None) if decides is None else decides.of(sample)
        except (AttributeError, TypeError, ValueError) as error:
            log.skip(place, f"its scores cannot be read: {error}")
            continue
        yield place, sample, None if sample.get("invalidation") else value, reason


def _records(
    log: Log, run: Run, scored: Iterable[tuple[str, dict[str, Any], Any, str | None]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the fields are taken from, a sample at a time."""
    task = run.header["eval"].get("task")
    prefix = "" if task is None else f"{as_text(task)}/"
    numbers = {str(s["id"]) for _, s in run.samples if not isinstance(s["id"], str)}
    strange: dict[str, int] = {}
    for place, sample, value, reason in scored:
        name = as_text(sample["id"])
        if name in numbers and isinstance(sample["id"], str):
            name = f'"{name}"'
        word = value if isinstance(value, str) and not is_number(value) else None
        if word is not None and word not in LETTERS and word.lower() not in YES_OR_NO:
            strange[word] = strange.get(word, 0) + 1
        try:
            used = _used(sample)
        except (AttributeError, TypeError, ValueError) as error:
            log.skip(place, f"its model_usage cannot be read: {error}")
            continue
        record = {
            "samples[]": sample,
            "case": prefix + name,
            "score": value_to_float(value),
            "grade": word,
            "reason": reason,
            "outcome": _outcome(sample, reason),
            **used,
        }
        yield place, record
    if strange:
        logger.warning(
            "%s: %d scores are words that Inspect counts as 0: %s. If they mean something else, "
            'say what passes, for example passed=pl.col("grade") == %r',
            short(str(log.path)),
            sum(strange.values()),
            listed(strange, 3),
            next(iter(strange)),
        )


def _outcome(sample: Mapping[str, Any], reason: str | None) -> str:
    error, limit = sample.get("error"), sample.get("limit")
    if error:
        return "cancelled" if str(error).startswith("CancelledError") else "error"
    if limit:
        return LIMITS.get(limit, "limit")
    return "completed" if reason is None else REASONS.get(reason, "completed")


def _used(sample: Mapping[str, Any]) -> dict[str, int | float | None]:
    """Tokens and cost of all models, without what went to the role grader."""
    every = list((sample.get("model_usage") or {}).values())
    if not every:
        return {}
    grader = (sample.get("role_usage") or {}).get("grader")
    tokens_in = sum(map(_tokens_in, every))
    tokens_out = sum(usage.get("output_tokens") or 0 for usage in every)
    costs = [usage.get("total_cost") for usage in every]
    cost = None if None in costs else sum(costs)
    if grader:
        tokens_in = max(0, tokens_in - _tokens_in(grader))
        tokens_out = max(0, tokens_out - (grader.get("output_tokens") or 0))
        paid = grader.get("total_cost")
        cost = None if cost is None or paid is None else max(0, cost - paid)
    return {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost_uusd": cost}


def _tokens_in(usage: Mapping[str, Any]) -> int:
    """Input with what was read from and written to caches.

    Old versions counted cached tokens as input already: there input and output make the total.
    """
    fresh = usage.get("input_tokens") or 0
    if fresh + (usage.get("output_tokens") or 0) == usage.get("total_tokens"):
        return fresh
    read, written = usage.get("input_tokens_cache_read"), usage.get("input_tokens_cache_write")
    return fresh + (read or 0) + (written or 0)


def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a sample that may tell groups: no lists, and not what was left out."""
    return {
        name: value
        for name, value in scalars(record["samples[]"].get("metadata"), "metadata").items()
        if isinstance(value, int | float)
        or (isinstance(value, str) and not value.startswith(REMOVED))
    }


def _is_prose(column: pl.Series) -> bool:
    """Whether metadata are whole texts, which tell no groups."""
    if column.dtype != pl.String or not column.name.startswith("metadata."):
        return False
    longest = max((len(text) for text in column.to_list() if text), default=0)
    if longest > WIDEST:
        logger.info("left out %s: up to %d characters", short(column.name), longest)
    return longest > WIDEST


def _about(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header, with the generate config and the solver in one place for all versions."""
    spec, plan = header["eval"], header.get("plan") or {}
    steps = [step.get("solver") for step in plan.get("steps") or [] if isinstance(step, dict)]
    solver = spec.get("solver") or " > ".join(filter(None, steps)) or None
    generate = (plan.get("config") or {}) | (spec.get("model_generate_config") or {})
    return {**header, "solver": solver, "generate": generate}


def _settings(about: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Arguments of the task and settings of the model, with their types."""
    generate = {name: about["generate"].get(name) for name in GENERATE}
    every = scalars(about["eval"].get("task_args"), "task_args") | scalars(generate, "generate")
    found: dict[str, tuple[Any, Any]] = {}
    for name, value in every.items():
        if isinstance(value, str) or (isinstance(value, int) and abs(value) > LARGEST):
            found[name] = (as_text(value), pl.String)
        elif isinstance(value, int | float):
            found[name] = (value, KINDS[type(value)])
    return found


FORMAT = LogFormat(
    name="inspect",
    title="Inspect AI",
    files="*.eval, *.json of the log folder",
    recognise=recognise,
    read=read,
    fields=(*RUN, *SAMPLE, PASSED),
    trial="epoch, from 1",
    metric="a scorer, or SCORER.KEY of one with several values; the task's declared headline",
)
