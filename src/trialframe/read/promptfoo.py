"""promptfoo: the output of an eval as JSON or JSON lines, versions 1 to 3."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read._log import Log, LogFormat, bare
from trialframe.read._take import Take, as_text, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

log_ = logging.getLogger("trialframe")

Row = dict[str, Any]

NONE, ASSERTION, ERROR = 0, 1, 2
"""Values of failureReason."""

WIDTH = 120
"""Characters of a made-up id; longer ones end in a hash of the whole."""

SHORT = 200
"""Characters of a variable that is kept as a column."""

FIELDS = (
    Take(column="config", path="", note="[provider] prompt, as the head of promptfoo's own table"),
    Take(
        column="case",
        path="",
        note="description and variables of the test; a hash of its assertions where these differ",
    ),
    Take(
        column="passed",
        path="results[].success",
        note="null for failureReason 2, and where only a grader broke",
    ),
    Take(column="score", path="", note="results[].score, or namedScores of the metric"),
    Take(column="outcome", path="", note="from failureReason; error is filled for failures too"),
    Take(column="error", path="results[].error", made=clipped),
    Take(column="tokens_in", path="results[].tokenUsage.prompt", note="null for errors"),
    Take(column="tokens_out", path="results[].tokenUsage.completion", note="null for errors"),
    Take(column="cost_uusd", path="results[].cost", factor=1e6, note="null for errors"),
    Take(column="duration_ms", path="results[].latencyMs"),
    Take(column="provider", path="", note="results[].provider.label, or its id"),
    Take(column="prompt", path="", note="results[].prompt.label"),
    Take(
        column="cached",
        path="results[].response.cached",
        dtype=pl.Boolean,
        note="the answer is that of an earlier run, and no new sample",
    ),
    Take(column="eval_id", path="evalId"),
)


def recognise(head: Head) -> bool:
    """The output of the command line, of the node API, or rows as JSON lines."""
    if head.has("gradingResult", "latencyMs", "namedScores", "promptId"):
        return True
    parts = ("prompts", "table", "results")
    wrapped = head.has("results.version") and any(f"results.{part}" in head.keys for part in parts)
    if wrapped:
        return True
    known = head.has("version") and (
        head.has("prompts[].raw", "prompts[].provider")
        or head.has("results[].vars", "results[].success", "results[].prompt")
        or head.has("results[].vars", "results[].gradingResult")
    )
    return known and "eval" not in head.keys


def read(log: Log) -> pl.DataFrame:
    """One eval."""
    document, rows = _rows(log)
    kept = _settled(log, [item for item in rows if _is_row(log, *item)])
    configs = _configs(document, [row for _, row in kept])
    cases = _cases([row for _, row in kept])
    metric = _metric(log, [row for _, row in kept])
    fields: tuple[Take, ...] = FIELDS
    if metric is not None and any(
        metric in _dict(row, "namedScores") and _graded(row, metric) is None for _, row in kept
    ):  # no assertion says pass or fail, so that the score has to
        fields = tuple(take for take in FIELDS if take.column != "passed")
    records = []
    for (place, row), config, case in zip(kept, configs, cases, strict=True):
        try:
            record = _record(row, metric)
        except ValueError as error:
            log.skip(place, f"{error}.")
            continue
        about = {"config": config, "case": case, "evalId": document.get("evalId")}
        records.append((place, record | about))
    cached = sum(bool(record["results[]"]["response"]["cached"]) for _, record in records)
    if cached:
        log_.warning(
            "%s: %d of %d answers come from promptfoo's cache. They are no new samples: where the "
            "run that filled the cache is read too, leave them out (column cached), or evaluate "
            "with --no-cache.",
            named(log.path),
            cached,
            len(records),
        )
    return log.table(records, fields, extras=_extras)


def _rows(log: Log) -> tuple[Row, list[tuple[str, Row]]]:
    """The document around the rows, and the rows with their places."""
    name = bare(log.path).lower()
    if name.endswith((".jsonl", ".ndjson")):
        return {}, [(f"line {number}", row) for number, row in log.objects()]
    document = log.json()
    summary = document
    if isinstance(document, dict) and isinstance(document.get("results"), dict):
        summary = document["results"]
    if not isinstance(summary, dict) or "results" not in summary:
        raise SourceError(
            f"{named(log.path)} has no list of results. Write it with `promptfoo eval -o`, or "
            "leave it out."
        )
    rows = [(f"results[{number}]", row) for number, row in log.items(summary["results"], "results")]
    told = _dict(summary, "stats")
    counted = [told.get(name) for name in ("successes", "failures", "errors")]
    total = sum(count for count in counted if type(count) is int)
    if len(rows) < total:
        log_.warning(
            "%s: its own stats count %d results, and it holds %d of them. Somebody cut it.",
            named(log.path),
            total,
            len(rows),
        )
    return document, rows


def _is_row(log: Log, place: str, row: Row) -> bool:
    if not isinstance(row.get("success"), bool):
        log.skip(place, f"success is {short(row.get('success'))} where true or false is needed.")
        return False
    reason = row.get("failureReason")
    if isinstance(reason, bool) or reason not in (None, NONE, ASSERTION, ERROR):
        log.skip(place, f"failureReason is {short(reason)}, and 0, 1 and 2 are known.")
        return False
    return True


def _settled(log: Log, rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """Rows without the errors that a later row of the same cell replaces."""
    last = {_cell(row): place for place, row in rows if "testIdx" in row}
    kept = [
        (place, row)
        for place, row in rows
        if "testIdx" not in row or not _is_error(row) or last[_cell(row)] == place
    ]
    if len(kept) < len(rows):
        log_.warning(
            "%s: %d errors were retried and are left out",
            named(log.path),
            len(rows) - len(kept),
        )
    return kept


def _cell(row: Row) -> tuple[str, ...]:
    return (_provider(row), as_text(row.get("testIdx")), as_text(row.get("promptIdx")))


def _is_error(row: Row) -> bool:
    """Whether there is no verdict; files of old have no failureReason, but then no grading."""
    reason = row.get("failureReason")
    if reason is None:
        return not row["success"] and not row.get("gradingResult")
    return bool(reason == ERROR) and not row["success"]


def _record(row: Row, metric: str | None) -> Row:
    """One row with its verdict, and without the zeros that stand for unknown."""
    passed, outcome = _verdict(row)
    score = row.get("score")
    if metric is not None and passed is not None:
        score = _dict(row, "namedScores").get(metric)
        passed = _graded(row, metric)
    record = row | {"success": passed}
    response = row.get("response")
    record["response"] = {"cached": bool(isinstance(response, dict) and response.get("cached"))}
    if _is_error(row):
        record |= {name: None for name in ("cost", "tokenUsage") if not _spent(row.get(name))}
    return {
        "results[]": record,
        "score": None if passed is None and outcome != "completed" else score,
        "outcome": outcome,
        "provider": _provider(row),
        "prompt": clipped(_prompt(row), SHORT),
    }


def _spent(value: Any) -> bool:
    if isinstance(value, dict):
        return any(isinstance(value.get(name), int) and value[name] for name in ("total", "prompt"))
    return bool(value)


def _verdict(row: Row) -> tuple[bool | None, str]:
    if _is_error(row):
        return None, "timeout" if "timed out" in str(row.get("error")) else "error"
    if not row["success"] and _only_grader_broke(row):
        return None, "scorer_error"
    response = row.get("response")
    refused = isinstance(response, dict) and response.get("isRefusal") is True
    return row["success"], "refused" if refused else "completed"


def _only_grader_broke(row: Row) -> bool:
    """Whether a grader failed to answer, and nothing else failed the test."""
    grading = _dict(row, "gradingResult")
    parts = list(_components(grading))
    broken = [part for part in parts if _dict(part, "metadata").get("graderError")]
    if not broken:
        return bool(_dict(grading, "metadata").get("graderError"))
    failed = [part for part in parts if part.get("pass") is False and part not in broken]
    return not failed or "threshold" in _dict(row, "testCase")


def _components(grading: Mapping[str, Any]) -> Iterator[Row]:
    """The results of single assertions, those inside sets of them too."""
    parts = grading.get("componentResults")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            if part.get("componentResults"):
                yield from _components(part)
            else:
                yield part


def _metric(log: Log, rows: Sequence[Row]) -> str | None:
    """The named score that decides; None for the verdict of all assertions."""
    if log.metric is None:
        return None
    return log.chosen((name for row in rows for name in _dict(row, "namedScores")), "named score")


def _graded(row: Row, metric: str) -> bool | None:
    """The verdict of the assertions with that metric; None where there are none."""
    verdicts = [
        part.get("pass") is True
        for part in _components(_dict(row, "gradingResult"))
        if _dict(part, "assertion").get("metric") == metric
    ]
    return all(verdicts) if verdicts else None


def _configs(document: Row, rows: Sequence[Row]) -> list[str]:
    """One name a row; the column of the table tells apart what would be called the same."""
    names = [f"[{_provider(row)}] {_readable(_prompt(row), 80)}".strip() for row in rows]
    columns: dict[str, dict[str, None]] = {}
    for name, row in zip(names, rows, strict=True):
        columns.setdefault(name, {})[as_text(row.get("promptIdx"))] = None
    declared = _declared(document)
    # A retry adds columns for the same provider; a provider that is named twice is two.
    apart = {
        name
        for name, row in zip(names, rows, strict=True)
        if len(columns[name]) > 1 and declared.get(_provider(row), 2) > 1
    }
    return [
        f"{name} #{as_text(row.get('promptIdx'))}" if name in apart else name
        for name, row in zip(names, rows, strict=True)
    ]


def _declared(document: Row) -> Counter[str]:
    """How often the config of the eval names each provider."""
    providers = _dict(document, "config").get("providers")
    found: Counter[str] = Counter()
    for item in providers if isinstance(providers, list) else [providers]:
        if isinstance(item, str):
            found[item] += 1
        elif isinstance(item, dict):
            name = item.get("label") or item.get("id") or next(iter(item), None)
            found[as_text(name)] += 1
    return found


def _provider(row: Row) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        return as_text(provider.get("label") or provider.get("id") or "")
    return as_text(provider or "")


def _prompt(row: Row) -> str:
    """The name of the prompt; the raw one holds the variables, and differs from test to test."""
    prompt = row.get("prompt")
    if isinstance(prompt, dict):
        name = prompt.get("label") or prompt.get("display")
        if name:
            return " ".join(as_text(name).split())
    return as_text(row.get("promptId") or "")[:8]


def _cases(rows: Sequence[Row]) -> list[str]:
    """One id a row, the same for repeats and in other files."""
    names = [_case(row) for row in rows]
    asserts = [_digest([_test(row).get("assert"), _test(row).get("threshold")]) for row in rows]
    several: dict[str, set[str]] = {}
    for name, mark in zip(names, asserts, strict=True):
        several.setdefault(name, set()).add(mark)
    return [
        f"{name} #{mark}".strip() if len(several[name]) > 1 or not name else name
        for name, mark in zip(names, asserts, strict=True)
    ]


def _test(row: Row) -> Row:
    return _dict(row, "testCase")


def _case(row: Row) -> str:
    pairs = ", ".join(f"{key}={as_text(value)}" for key, value in _vars(row).items())
    description = _test(row).get("description") or row.get("description")
    if not description:
        return _readable(pairs, WIDTH)
    return _readable(f"{as_text(description)} ({pairs})" if pairs else as_text(description), WIDTH)


def _vars(row: Row) -> Row:
    """The variables of the test, without those that a run adds."""
    found = _test(row).get("vars")
    found = found if isinstance(found, dict) and found else _dict(row, "vars")
    return {k: v for k, v in found.items() if not k.startswith("_") and k != "sessionId"}


def _readable(text: str, width: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= width else f"{plain[: width - 10]} #{_digest(text)}"


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _extras(record: Mapping[str, Any]) -> Row:
    row = record["results[]"]
    metadata = _test(row).get("metadata") or row.get("metadata")
    groups = {
        "score": _dict(row, "namedScores"),
        "vars": _vars(row),
        "metadata": metadata if isinstance(metadata, dict) else {},
    }
    return {
        f"{prefix}.{name}": value
        for prefix, group in groups.items()
        for name, value in group.items()
        if not name.startswith("_")
        and isinstance(value, str | int | float)
        and (not isinstance(value, str) or len(value) <= SHORT)
    }


def _dict(row: Mapping[str, Any], name: str) -> Row:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """One of the outputs of an eval that was written in several forms."""
    whole = {path.with_suffix("") for path in paths if path.suffix.lower() == ".json"}
    left = {
        path: f"{path.with_suffix('.json').name} beside it is the same eval"
        for path in paths
        if path.suffix.lower() == ".jsonl" and path.with_suffix("") in whole
    }
    return [path for path in paths if path not in left], left


FORMAT = LogFormat(
    name="promptfoo",
    title="promptfoo",
    files="*.json or *.jsonl of `promptfoo eval -o`, or the result of evaluate() in Node.js",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="the order of rows: repeats are not marked",
    select=select,
    metric="a named score; without it the verdict of all assertions",
)
