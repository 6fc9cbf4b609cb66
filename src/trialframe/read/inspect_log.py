"""Inspect AI: runs of samples by epochs, as .eval archives or .json documents."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from trialframe.errors import listed, named, short
from trialframe.read._inspect_file import HEADER, START, SUMMARIES, WIDEST, Usage, run_of
from trialframe.read._inspect_scores import (
    LETTERS,
    YES_OR_NO,
    chosen,
    is_number,
    value_to_float,
)
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._take import (
    LARGEST,
    MOST_EXTRAS,
    Take,
    as_text,
    at,
    by_name,
    clipped,
    constant,
    scalars,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trialframe.read._inspect_file import Place, Run, Sample
    from trialframe.read._inspect_scores import Decides
    from trialframe.read._outline import Head

logger = logging.getLogger("trialframe")

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

SHAPELESS = (AttributeError, TypeError, ValueError)
"""What code raises that meets a sample of a shape which no version writes."""

REMOVED = "Key removed from summary"
"""What stands in a summary in place of long metadata."""

RUN = (
    Take(column="config", path="eval.model", note="where there is none, the name of the file"),
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


class Scored(NamedTuple):
    """Samples with their places, their scores' values and reasons, outcomes, and what they used."""

    place: Place
    samples: Sequence[Sample]
    values: Sequence[Any]
    reasons: Sequence[str | None]
    outcomes: Sequence[str]
    tokens_in: Sequence[int | None]
    tokens_out: Sequence[int | None]
    costs: Sequence[float | None]


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
    _say_unfinished(log, run)
    name, decides = chosen(log, run)
    rows = _scored(log, run, decides)
    if log.threshold is None and not _has_numbers(rows.values):
        log = replace(log, threshold=1.0)  # what counts in Inspect's own pass_at and at_least
    frame = log.columns(rows.place, _values(log, run, rows), SAMPLE, _metadata(rows.samples))
    about = _about(run.header) | {"scorer": name}
    run_wide = {take.column: (take.value(about), take.kind) for take in RUN} | _settings(about)
    if run_wide["config"][0] is None:
        run_wide["config"] = (label(log.path), pl.String)
    made = [constant(n, v, dtype, frame.height) for n, (v, dtype) in run_wide.items()]
    return pl.DataFrame([item for item in frame if item.name not in run_wide] + made)


def _say_unfinished(log: Log, run: Run) -> None:
    """Say that a run was cancelled, broke off or still goes on: what is missing is no accident."""
    status = run.header.get("status")
    if status == "success" and run.samples:
        return
    spec = run.header["eval"]
    chosen, epochs = at(spec, "dataset.sample_ids"), at(spec, "config.epochs") or 1
    known = isinstance(chosen, list) and isinstance(epochs, int)
    logger.warning(
        "%s holds %s%s samples, its status is %s",
        named(log.path),
        len(run.samples) or "no",
        f" of {len(chosen) * epochs}" if known and run.samples else "",
        short(status),
    )


def _has_numbers(values: Sequence[Any]) -> bool:
    """Whether some scores are numbers; true is none, though it equals 1."""
    return bool({*map(type, values)} & {int, float}) or any(
        is_number(value) for value in {*values} if isinstance(value, str)
    )


def _scored(log: Log, run: Run, decides: Decides | None) -> Scored:
    """Samples with the value and the reason of the score that decides, and what they used."""
    try:
        return _scored_at_once(run, decides)
    except SHAPELESS:
        rows = [row for row in range(len(run.samples)) if _can_be_read(log, run, row, decides)]
        return _scored_at_once(run.only(rows), decides)


def _can_be_read(log: Log, run: Run, row: int, decides: Decides | None) -> bool:
    """Whether a sample's scores and usage can be read; if not, it is skipped."""
    sample, what = run.samples[row], "scores"
    try:
        _, reasons = decides.of([sample]) if decides else ((None,), (None,))
        what = "model_usage"
        used(sample.model_usage, sample.role_usage)
        what = "limit or reason"
        _outcome(sample.error, sample.limit, reasons[0])
    except SHAPELESS as error:
        log.skip(run.place(row), f"its {what} cannot be read: {error}")
        return False
    return True


def _scored_at_once(run: Run, decides: Decides | None) -> Scored:
    samples = run.samples
    nothing: list[Any] = [None] * len(samples)
    values, reasons = (nothing, nothing) if decides is None else decides.of(samples)
    if any(sample.invalidation for sample in samples):
        pairs = zip(values, samples, strict=True)
        values = [None if sample.invalidation else value for value, sample in pairs]
    outcomes = [
        _outcome(one.error, one.limit, reason) for one, reason in zip(samples, reasons, strict=True)
    ]
    spent = [used(sample.model_usage, sample.role_usage) for sample in samples]
    columns = zip(*spent, strict=True) if spent else ((), (), ())
    return Scored(run.place, samples, values, reasons, outcomes, *columns)


def _values(log: Log, run: Run, rows: Scored) -> dict[str, Sequence[Any]]:
    """What the columns of samples are made of, by their names."""
    known = dict.fromkeys(rows.values)
    floats = {value: value_to_float(value) for value in known}
    words = {v: v for v in known if isinstance(v, str) and not is_number(v)}
    _say_strange(log, words, rows.values)
    samples = rows.samples
    return {
        "case": _cases(run, samples),
        "trial": [sample.epoch for sample in samples],
        "score": [floats[value] for value in rows.values],
        "outcome": rows.outcomes,
        "error": [sample.error for sample in samples],
        "tokens_in": rows.tokens_in,
        "tokens_out": rows.tokens_out,
        "cost_uusd": rows.costs,
        "duration_ms": [sample.total_time for sample in samples],
        "started_at": [sample.started_at for sample in samples],
        "grade": [words.get(value) for value in rows.values],
        "reason": rows.reasons,
        "limit": [sample.limit for sample in samples],
        "retries": [sample.retries for sample in samples],
        "working_ms": [sample.working_time for sample in samples],
    }


def _cases(run: Run, samples: Sequence[Sample]) -> list[str]:
    """The task and the id, which keeps its quotes where another one is that number."""
    task = run.header["eval"].get("task")
    prefix = "" if task is None else f"{as_text(task)}/"
    names = [s.id if type(s.id) is str else as_text(s.id) for s in samples]
    numbers = {str(sample.id) for sample in run.samples if not isinstance(sample.id, str)}
    if numbers:
        names = [
            f'"{name}"' if name in numbers and isinstance(sample.id, str) else name
            for name, sample in zip(names, samples, strict=True)
        ]
    return [prefix + name for name in names]


def _say_strange(log: Log, words: Iterable[str], values: Sequence[Any]) -> None:
    """Say which words no grade is known by."""
    strange = [word for word in words if word not in LETTERS and word.lower() not in YES_OR_NO]
    if not strange:
        return
    counts = dict.fromkeys(strange, 0)
    for value in values:
        if value in counts:
            counts[value] += 1
    logger.warning(
        "%s: %d scores are words that Inspect counts as 0: %s. If they mean something else, "
        'say what passes, for example passed=pl.col("grade") == %r',
        named(log.path),
        sum(counts.values()),
        listed(strange, 3),
        strange[0],
    )


def _outcome(error: Any, limit: Any, reason: str | None) -> str:
    if error:
        return "cancelled" if str(error).startswith("CancelledError") else "error"
    if limit:
        return LIMITS.get(limit, "limit")
    return "completed" if reason is None else REASONS.get(reason, "completed")


def used(
    usage: Mapping[str, Usage] | None, roles: Mapping[str, Usage] | None
) -> tuple[int | None, int | None, float | None]:
    """Tokens and cost of all models, without what went to the role grader."""
    if not usage:
        return None, None, None
    spent = _spent(*usage.values()) if len(usage) == 1 else _sum(map(_spent, usage.values()))
    grader = roles.get("grader") if roles else None
    if not grader or grader == Usage():
        return spent
    tokens_in, tokens_out, cost = _spent(grader)
    paid = None if spent[2] is None or cost is None else max(0, spent[2] - cost)
    return max(0, spent[0] - tokens_in), max(0, spent[1] - tokens_out), paid


def _sum(every: Iterable[tuple[int, int, float | None]]) -> tuple[int, int, float | None]:
    tokens_in, tokens_out, costs = zip(*every, strict=True)
    return sum(tokens_in), sum(tokens_out), None if None in costs else sum(costs)


def _spent(usage: Usage) -> tuple[int, int, float | None]:
    """Tokens in, with what was read from and written to caches, tokens out, and cost of one model.

    Old versions counted cached tokens as input already: there input and output make the total.
    """
    fresh, out = usage.input_tokens or 0, usage.output_tokens or 0
    if fresh + out != usage.total_tokens:
        fresh += (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return fresh, out, usage.total_cost


def _metadata(samples: Sequence[Sample]) -> dict[str, list[Any]]:
    """Metadata that may tell groups: no lists, no whole texts, and not what was left out."""
    rows = [sample.metadata if isinstance(sample.metadata, dict) else {} for sample in samples]
    if len({*chain.from_iterable(rows)}) > MOST_EXTRAS:  # those that tell something come first
        rows = [{n: v for n, v in row.items() if _telling([v]) != [None]} for row in rows]
    found = {f"metadata.{name}": _telling(values) for name, values in by_name(rows).items()}
    return {name: values for name, values in found.items() if not _is_idle(name, values)}


def _telling(values: Sequence[Any]) -> list[Any]:
    return [
        value
        if type(value) in KINDS or (type(value) is str and not value.startswith(REMOVED))
        else None
        for value in values
    ]


def _is_idle(name: str, values: Sequence[Any]) -> bool:
    """Whether metadata are not there at all, or whole texts, which tell no groups."""
    longest = max((len(value) for value in values if type(value) is str), default=0)
    if longest > WIDEST:
        logger.info("left out %s: up to %d characters", short(name), longest)
    return longest > WIDEST or (not longest and values.count(None) == len(values))


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
