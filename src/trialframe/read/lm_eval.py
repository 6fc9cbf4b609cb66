"""lm-evaluation-harness: a file of samples for each task, and the results beside them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, SourceError, listed, named
from trialframe.read import _bounded
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._outline import head_of
from trialframe.read._take import Take, as_text, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

OWN = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
        "truth",
    ]
)
"""Keys of a sample that are no scores."""

SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")

BRIEF = 64
"""Length of text in a document that may name a group of them."""

WITHOUT = "it holds results without samples: run lm_eval again with --log_samples"

_STAMP = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)$")
_OLD = re.compile(r"(prompt|logit)_\d+$")
MODEL_KEYS = ("peft", "delta", "pretrained", "model", "path", "engine")
"""Arguments of a model that name it, the first that is there."""

NONE = "none"
"""What the tool calls no filter."""

FIELDS = (
    Take(column="config", path="config", note="model_name of the results, else the folder's name"),
    Take(column="case", path="case", note="task/doc_id"),
    Take(column="score", path="score", note="of the metric and filter that decide"),
    Take(column="outcome", path="outcome", note="completed where there is a score"),
    Take(column="started_at", path="date", note="date of the results: one for the whole run"),
    Take(
        column="seed", path="seed", note="random, numpy, torch and fewshot seed; one if all agree"
    ),
    Take(column="task", path="task", note="from the file's name"),
    Take(column="metric", path="metric"),
    Take(column="filter", path="filter"),
    Take(column="doc_hash", path="doc_hash"),
    Take(column="model_args", path="model_args"),
    Take(column="gen_kwargs", path="gen_kwargs"),
    Take(column="num_fewshot", path="num_fewshot", dtype=pl.Int64, note="n-shot of the results"),
)


def recognise(head: Head) -> bool:
    """Samples of a task, one a line or in a list, or the results of a run."""
    for prefix in ("", "[]."):
        if f"{prefix}doc_id" in head.keys:
            more = ("resps", "filtered_resps", "arguments", "doc_hash", "prompt_0", "logit_0")
            return any(f"{prefix}{key}" in head.keys for key in more) or _named(head.path)
    return _is_results(head)


def _named(path: Path) -> bool:
    return path.name.startswith("samples_") and _STAMP.search(label(path)) is not None


def _is_results(head: Head) -> bool:
    """Whether numbers of a task come with their standard errors, as only results do."""
    return any(key.startswith("results.") and "_stderr" in key for key in head.keys)


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Files of samples; results alone hold no trials."""
    left = {path: WITHOUT for path in paths if _is_results(head_of(path))}
    return [path for path in paths if path not in left], left


def read(log: Log) -> pl.DataFrame:
    """The samples of one task, by the metric and the filter that decide."""
    if _is_results(head_of(log.path)):
        raise SourceError(f"{named(log.path)}: {WITHOUT}.")
    results = _results(log)
    task = _task(log.path, results)
    samples = _with_filters(list(_samples(log)), results, task)
    names = dict.fromkeys(f"{name},{row['filter']}" for _, row in samples for name in row["scores"])
    chosen = _chosen(log, list(names))
    metric, _, kind = (chosen or "").rpartition(",")
    kept = [item for item in samples if chosen is None or item[1]["filter"] == kind]
    if _value(results, "higher_is_better", task, metric) is False:
        raise ArgumentError(
            f"{chosen} of {named(log.path)} is better when it is lower, and a trial passes "
            "where its score is high. Choose another metric=."
        )
    same = _same(log.path, results, task) | {"metric": chosen}
    records = ((place, same | row | _verdict(row, metric, task)) for place, row in kept)
    return log.table(records, FIELDS, extras=_brief([row["doc"] for _, row in kept]))


def _samples(log: Log) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is kept of each sample: its scores, and what is short in its document."""
    if _outlined_as_list(log.path):
        rows: Iterable[tuple[int, dict[str, Any]]] = log.items(log.json(), "samples")
    else:
        rows = log.objects()
    for number, row in rows:
        place = f"sample {number}"
        if row.get("doc_id") is None:
            log.skip(place, "has no doc_id.")
            continue
        doc = row.get("doc")
        doc = doc if isinstance(doc, dict) else {}
        yield (
            place,
            {
                "doc_id": row["doc_id"],
                "filter": row.get("filter"),
                "doc_hash": row.get("doc_hash"),
                "scores": _scores(row),
                "doc": {name: value for name, value in doc.items() if _is_brief(value)},
            },
        )


def _outlined_as_list(path: Path) -> bool:
    return _bounded.head(path, 64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _scores(row: Mapping[str, Any]) -> dict[str, float | None]:
    """The scores of a sample by metric; lists of numbers are for corpora and score no sample."""
    if isinstance(row.get("metrics"), list):
        names = [name for name in row["metrics"] if isinstance(name, str)]
    else:
        names = [name for name in row if name not in OWN and not _OLD.match(name)]
    values = {name: _number(row.get(name)) for name in names}
    return {name: value for name, value in values.items() if value is not ...}


def _number(value: Any) -> Any:
    """A score as a number, None where it is unknown; an ellipsis where it is none."""
    if isinstance(value, str):  # version 0.3 writes all values as text
        value = {"True": 1.0, "False": 0.0}.get(value, value)
        try:
            value = float(value)
        except ValueError:
            return ...
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return float(value) if isinstance(value, bool | int | float) else ...


def _with_filters(
    samples: list[tuple[str, dict[str, Any]]], results: Mapping[str, Any], task: str
) -> list[tuple[str, dict[str, Any]]]:
    """Samples with the name of their filter; where none is given, by the order of the task's."""
    if any(row["filter"] is not None for _, row in samples):
        return [(place, row | {"filter": row["filter"] or NONE}) for place, row in samples]
    order = numbered(str(row["doc_id"]) for _, row in samples)
    known = _value(results, "configs", task, "filter_list") or ()
    names = [item.get("name") for item in known if isinstance(item, dict)]
    most = max(order, default=0) + 1
    if most != len(names):
        names = [NONE] if most == 1 else [f"filter {number + 1}" for number in range(most)]
    return [
        (place, row | {"filter": str(names[number])})
        for (place, row), number in zip(samples, order, strict=True)
    ]


def _chosen(log: Log, names: list[str]) -> str | None:
    """The metric and filter that decide; without its filter where there is one filter only."""
    found = [name for name in names if log.metric in (name, name.rpartition(",")[0])]
    if len(found) == 1:
        return found[0]
    if found:
        raise ArgumentError(
            f"metric={log.metric!r}: {named(log.path)} has it after several filters. "
            f"Choose one of {listed(found)}."
        )
    return log.chosen(names, "metric")


def _verdict(row: Mapping[str, Any], metric: str, task: str) -> dict[str, Any]:
    score = row["scores"].get(metric)
    outcome = None if score is None else "completed"
    return {"score": score, "outcome": outcome, "case": f"{task}/{as_text(row['doc_id'])}"}


def _results(log: Log) -> dict[str, Any]:
    """The results of the run: of the same time, or the only ones in the folder."""
    stamp = _STAMP.search(label(log.path))
    found = log.beside(f"*_{stamp[1]}.json") if stamp else log.beside("*results*.json")
    found = [path for path in found if path != log.path and _is_results(head_of(path))]
    document = _bounded.document(found[0]) if len(found) == 1 else {}
    return document if isinstance(document, dict) else {}


def _task(path: Path, results: Mapping[str, Any]) -> str:
    """The name of the task, which stands in the file's name."""
    name = _STAMP.sub("", label(path)).removeprefix("samples_").removesuffix("_write_out_info")
    known = [task for part in ("configs", "results") for task in results.get(part) or ()]
    same = [task for task in known if re.sub(r"\W", "_", task) == re.sub(r"\W", "_", name)]
    ends = [task for task in known if name.endswith(f"_{task}")]  # the model stands before it
    return str(max(same or ends or [name], key=len))


def _same(path: Path, results: Mapping[str, Any], task: str) -> dict[str, Any]:
    """What all samples of a run share."""
    config = results.get("config")
    config = config if isinstance(config, dict) else {}
    args = config.get("model_args")
    parts = args if isinstance(args, dict) else {}
    if isinstance(args, str):
        parts = dict(part.split("=", 1) for part in args.split(",") if "=" in part)
    named = next((parts[key] for key in MODEL_KEYS if parts.get(key)), None)
    seeds = [config.get(name) for name in SEEDS]
    known = [str(seed) for seed in seeds if seed is not None]
    return {
        "config": results.get("model_name") or named or path.absolute().parent.name,
        "task": task,
        "date": results.get("date"),
        "seed": ",".join(known[:1] if len(set(known)) == 1 else known) or None,
        "num_fewshot": _value(results, "n-shot", task),
        "model_args": args or None,
        "gen_kwargs": config.get("gen_kwargs") or None,
    }


def _value(results: Any, *keys: str) -> Any:
    """What is at some keys, None where one is missing."""
    for key in keys:
        results = results.get(key) if isinstance(results, dict) else None
    return results


def _is_brief(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= BRIEF)


def _brief(docs: Sequence[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function for the further columns: what all documents have, and is short in all."""
    names = [name for name in (docs[0] if docs else ()) if all(name in doc for doc in docs)]
    return lambda row: {f"doc.{name}": row["doc"][name] for name in names}


FORMAT = LogFormat(
    name="lm-eval",
    title="lm-evaluation-harness",
    files="samples_*.jsonl, beside results_*.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: several runs in the order of time",
    metric="a metric and its filter, as in exact_match,strict-match",
    select=select,
    identity=lambda path: path.name,
)
