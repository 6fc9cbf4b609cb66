"""HELM: the statistics of every instance of a run, and the specification beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError
from trialframe.read import _bounded
from trialframe.read._log import Log, LogFormat, there
from trialframe.read._take import Take, as_text, at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trialframe.read._outline import Head

VERDICT = "exact_match"
"""The statistic that decides where nothing else is asked for."""

NO_SCORE = re.compile(
    r"num_|inference_|training_|finish_reason_|batch_size|max_prob|logprob|perplexity|bits_per_byte"
    r"|predicted_index|prompt_truncated|ece|platt_|selective_|.*_latency"
)
"""Statistics that tell about a request and not how good the answer is."""

PLAIN = frozenset(["name", "robustness", "fairness", "computed_on", "seed"])
"""Keys of a perturbation that do not tell two of one name apart."""

_MODEL = re.compile(r"(?:^|[,:_])model=([^,]+)")

FIELDS = (
    Take(column="config", path="config", note="adapter_spec.model of run_spec.json"),
    Take(column="case", path="case", note="task/instance_id, and /perturbation where there is one"),
    Take(column="trial", path="train_trial_index", note="other examples in the prompt, from 0"),
    Take(column="score", path="score", note="mean of the statistic; unknown where its count is 0"),
    Take(column="outcome", path="outcome", note="completed where there is a score"),
    Take(column="tokens_in", path="stats.num_prompt_tokens"),
    Take(column="tokens_out", path="tokens_out", note="num_output_tokens, num_completion_tokens"),
    Take(column="duration_ms", path="stats.inference_runtime", factor=1e3),
    Take(column="split", path="split", note="of the statistic"),
    Take(column="task", path="task", note="name in run_spec.json, without the model"),
    Take(column="model_deployment", path="model_deployment"),
    Take(column="max_train_instances", path="max_train_instances", dtype=pl.Int64),
    Take(column="instance", path="instance", note="task/instance_id, shared by perturbations"),
    Take(column="perturbation", path="perturbation"),
)


def recognise(head: Head) -> bool:
    """A list of instances, each with a list of statistics."""
    return head.has("[].instance_id", "[].stats", "[].stats[].name.name")


def read(log: Log) -> pl.DataFrame:
    """The instances of a run."""
    rows = list(log.items(log.json(), "the document"))
    tables = []
    for number, row in rows:
        stats = _stats(row)
        if stats is None or row.get("instance_id") is None:
            log.skip(f"instance {number}", "instance_id and a list of stats with names are needed.")
            continue
        tables.append((number, row, stats))
    names = {name: None for _, _, stats in tables for name in stats if not NO_SCORE.match(name)}
    metric = log.chosen(names, "metric", VERDICT)
    spec = _spec(log)
    records = ((f"instance {n}", _record(row, stats, metric, spec)) for n, row, stats in tables)
    return log.table(records, FIELDS)


def _stats(row: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """The statistics of an instance by name; those of another perturbation are not its own."""
    stats = row.get("stats")
    if not isinstance(stats, list) or not all(
        isinstance(at(stat, "name.name"), str) for stat in stats
    ):
        return None
    found: dict[str, dict[str, Any]] = {}
    for stat in stats:
        name = stat["name"]
        if name.get("perturbation") not in (None, row.get("perturbation")):
            continue
        value = {
            "mean": stat.get("mean") if stat.get("count") else None,
            "split": name.get("split"),
        }
        if found.get(name["name"], {}).get("mean") is None:
            found[name["name"]] = value
    return found


def _record(
    row: Mapping[str, Any],
    stats: Mapping[str, Mapping[str, Any]],
    metric: str | None,
    spec: Mapping[str, Any],
) -> dict[str, Any]:
    means = {name: value["mean"] for name, value in stats.items()}
    decides = stats.get(metric or "") or next(iter(stats.values()), {})
    score = means.get(metric or "")
    instance = f"{spec['task']}/{as_text(row['instance_id'])}"
    change = _perturbation(row.get("perturbation"))
    return {
        **spec,
        "case": f"{instance}/{change}" if change else instance,
        "instance": instance,
        "perturbation": change,
        "train_trial_index": row.get("train_trial_index"),
        "score": score,
        "outcome": None if score is None else "completed",
        "stats": means,
        "tokens_out": means.get("num_output_tokens", means.get("num_completion_tokens")),
        "split": decides.get("split"),
    }


def _perturbation(value: Any) -> str | None:
    """The name of a perturbation, with what else tells it apart."""
    if not isinstance(value, dict):
        return None if value is None else as_text(value)
    rest = {key: item for key, item in value.items() if key not in PLAIN and item is not None}
    if value.get("seed"):
        rest["seed"] = value["seed"]
    told = ",".join(f"{key}={as_text(rest[key])}" for key in sorted(rest))
    return as_text(value.get("name")) + (f"({told})" if told else "")


def _spec(log: Log) -> dict[str, Any]:
    """What the run was: from the file beside, else from the name of the folder."""
    path = there(log.path.with_name("run_spec.json"))
    folder = log.path.absolute().parent.name
    spec = _bounded.document(path) if path else {}
    if not isinstance(spec, dict):
        raise SourceError(f"{path} is no specification of a run. Write it again.")
    adapter = spec.get("adapter_spec") or {}
    named = _MODEL.search(folder)
    return {
        "config": adapter.get("model") or (named[1] if named else folder),
        "task": _task(spec.get("name") or folder),
        "model_deployment": adapter.get("model_deployment"),
        "max_train_instances": adapter.get("max_train_instances"),
    }


def _task(name: str) -> str:
    """The name of a run without its model."""
    scenario, colon, args = name.partition(":")
    if not colon:
        return _MODEL.sub("", name).strip(",_")
    kept = [arg for arg in args.split(",") if not arg.startswith(("model=", "model_deployment="))]
    return f"{scenario}:{','.join(kept)}" if any(kept) else scenario


FORMAT = LogFormat(
    name="helm",
    title="HELM",
    files="per_instance_stats.json, beside run_spec.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="train_trial_index, from 0",
    metric="the name of a statistic; exact_match where there is one",
    identity=lambda path: path.absolute().parent.name,
)
