"""Small logs in the shape of each bench, for tests to write, change and break."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, document: Any) -> Path:
    """Write a document as JSON, or a list of lines where the name ends in .jsonl."""
    path.parent.mkdir(parents=True, exist_ok=True)
    many = document if path.suffix == ".jsonl" or path.name.endswith("_score.json") else [document]
    path.write_text("\n".join(json.dumps(one) for one in many), encoding="utf-8")
    return path


def swe_report() -> dict[str, Any]:
    """A report of the harness: two resolved, one each of all else."""
    lists = {
        "resolved_ids": ["a__a-1", "b__b-1"],
        "unresolved_ids": ["a__a-2", "a__a-3"],
        "empty_patch_ids": ["b__b-2"],
        "error_ids": ["c__c-1", "c__c-2"],
        "incomplete_ids": ["c__c-3"],
        "infra_failure_ids": ["c__c-2"],
        "ambiguous_failure_ids": ["a__a-3"],
    }
    done = lists["resolved_ids"] + lists["unresolved_ids"]
    return {
        "total_instances": 8,
        "completed_instances": len(done),
        "completed_ids": done,
        "submitted_ids": [*done, "b__b-2", "c__c-1", "c__c-2"],
        "failure_reasons": {"c__c-2": "no space left", "a__a-3": "network"},
        "schema_version": 2,
    } | lists


def swe_instance(*, resolved: bool = True, **more: Any) -> dict[str, Any]:
    """The report of one instance."""
    tests = {
        "FAIL_TO_PASS": {"success": ["t1"], "failure": [] if resolved else ["t2"]},
        "PASS_TO_PASS": {"success": ["t3", "t4"], "failure": []},
        "FAIL_TO_FAIL": {"success": [], "failure": ["t5"]},
    }
    base = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True}
    return base | {"resolved": resolved, "tests_status": tests} | more


def swe_boards() -> dict[str, Any]:
    """A leaderboards.json with one system on two boards, and one without instances."""
    details = {
        "a__a-1": {"resolved": True, "cost": 0.25, "api_calls": 7},
        "b__b.x-2": {"resolved": False, "cost": 1.5, "api_calls": 30},
    }
    system = {"folder": "20250101_one", "name": "One", "per_instance_details": details}
    other = {"folder": "20250102_two", "name": "Two", "per_instance_details": None}
    boards = [
        {"name": "bash-only", "results": [system]},
        {"name": "Verified", "results": [other, system]},
    ]
    return {"leaderboards": boards}


def terminal_trial(task: str = "t", name: str | None = None, **more: Any) -> dict[str, Any]:
    """One trial of Terminal-Bench."""
    return {
        "id": "1",
        "trial_name": name or f"{task}.1-of-1.r1",
        "task_id": task,
        "is_resolved": True,
        "failure_mode": "unset",
        "parser_results": {"a": "passed", "b": "failed"},
        "recording_path": f"r1/{task}/{task}.1-of-1.r1/sessions/agent.cast",
        "total_input_tokens": 0,
        "total_output_tokens": 12,
        "trial_started_at": "2025-01-01T00:00:00+00:00",
        "trial_ended_at": "2025-01-01T00:01:00.500+00:00",
    } | more


def terminal_run(*trials: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One run of Terminal-Bench."""
    known = {"pass_at_k": {}, "n_resolved": 1, "n_unresolved": 0, "accuracy": 1.0}
    return {"id": "r", "results": list(trials)} | known | more


def terminal_metadata(**more: Any) -> dict[str, Any]:
    """What is known of a run."""
    base = {"run_id": "r1", "dataset_name": "core", "dataset_version": "0.1", "output_path": "x"}
    return base | {"agent_name": "agent", "model_name": "v/m"} | more


def harbor_trial(task: str = "fix", minute: int = 0, **more: Any) -> dict[str, Any]:
    """One trial of Harbor."""
    return {
        "id": f"{task}{minute}",
        "task_name": task,
        "trial_name": f"{task}__{minute}",
        "trial_uri": "file:///x",
        "source": "set",
        "task_checksum": "0",
        "agent_info": {
            "name": "agent",
            "version": "1",
            "model_info": {"name": "m", "provider": "p"},
        },
        "agent_result": {
            "n_input_tokens": 10,
            "n_cache_tokens": 4,
            "n_output_tokens": 2,
            "cost_usd": 0.5,
        },
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "started_at": f"2026-01-01T00:{minute:02}:00Z",
        "finished_at": f"2026-01-01T00:{minute:02}:30Z",
        "step_results": None,
    } | more


def failure(kind: str, **more: Any) -> dict[str, Any]:
    """An exception in Harbor."""
    return {"exception_type": kind, "exception_message": "why", "exception_traceback": "x"} | more


def tau_row(task: Any = 0, trial: Any = 0, reward: Any = 1.0, **more: Any) -> dict[str, Any]:
    """One episode of tau-bench."""
    info = {"task": {"user_id": "u"}, "source": "user", "user_cost": 0.25}
    base = {"task_id": task, "reward": reward, "info": info, "traj": [], "trial": trial}
    return base | more


def tau2_simulation(task: str = "1", **more: Any) -> dict[str, Any]:
    """One simulation of tau2-bench."""
    return {
        "id": f"s{task}",
        "task_id": task,
        "start_time": "2025-08-01T15:17:43.465094",
        "duration": 1.5,
        "termination_reason": "user_stop",
        "agent_cost": 0.0,
        "user_cost": 0.5,
        "reward_info": {"reward": 1.0, "info": None},
        "messages": [
            {"role": "assistant", "usage": None},
            {"role": "user", "usage": {"prompt_tokens": 1000, "completion_tokens": 1000}},
            {"role": "assistant", "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
            {"role": "assistant", "usage": {"prompt_tokens": 1, "completion_tokens": None}},
        ],
        "trial": 0,
        "seed": 626729,
    } | more


def tau2_info(domain: str = "airline") -> dict[str, Any]:
    """What is known of a run of tau2-bench."""
    return {
        "git_commit": "abc",
        "num_trials": 1,
        "max_steps": 200,
        "user_info": {"llm": "u"},
        "agent_info": {"implementation": "llm_agent", "llm": "m", "llm_args": {"temperature": 0}},
        "environment_info": {"domain_name": domain},
        "seed": 300,
    }


def tau2_results(*simulations: Any, domain: str = "airline") -> dict[str, Any]:
    """One run of tau2-bench."""
    return {"timestamp": "x", "info": tau2_info(domain), "tasks": [], "simulations": simulations}


def judged_simulation(task: str = "0", **more: Any) -> dict[str, Any]:
    """One verdict of a judge on a simulation."""
    return {
        "label": "full",
        "simulation_id": f"s{task}",
        "task_id": task,
        "tau2_reward": 1.0,
        "tau2_success": True,
        "judge_verdict": "pass",
        "judge_prompt": "Domain: airline\n\nDomain policy",
        "judge_prompt_name": "policy_v1",
        "judge_cost_usd": 0.25,
    } | more


def bfcl_lines(total: int = 5, *failed: Any, model: str | None = "m") -> list[dict[str, Any]]:
    """A score file: its header and its failures."""
    named = {} if model is None else {"model_name": model, "test_category": "simple"}
    correct = total - len(failed)
    head = {"accuracy": correct / total, "correct_count": correct, "total_count": total}
    return [head, *({"id": one, **named, "valid": False, "error": ["x"]} for one in failed)]


def performance(question: str, model: str, share: Any) -> dict[str, Any]:
    """One question of LiveCodeBench."""
    known = {"date": 1692662400000, "difficulty": "easy", "platform": "atcoder"}
    return {"question_id": question, "model": model, "pass@1": share} | known


def annotation(preference: Any, instruction: str = "say", **more: Any) -> dict[str, Any]:
    """One annotation of AlpacaEval."""
    return {
        "instruction": instruction,
        "output_1": "a",
        "generator_1": "base",
        "dataset": "d",
        "output_2": "b",
        "generator_2": "new",
        "annotator": "gpt4",
        "preference": preference,
        "price_per_example": 0.5,
    } | more


def judged_pair(*decisions: Any, label: str = "A>B", **more: Any) -> dict[str, Any]:
    """One pair of JudgeBench."""
    made = [
        None if one == "lost" else {"judgment": {"judge_model": "j"}, "decision": one}
        for one in decisions
    ]
    base = {"pair_id": "p", "original_id": 3, "source": "law", "response_model": "r"}
    answers = {"response_A": "x", "response_B": "y", "label": label, "judge_name": "arena"}
    return base | answers | {"judgments": made} | more


def metr_run(task: str = "family/one", minute: int = 0, **more: Any) -> dict[str, Any]:
    """One run of METR."""
    start = 1_734_070_000_000 + minute * 60_000
    return {
        "run_id": f"r{minute}",
        "task_id": task,
        "task_family": task.partition("/")[0],
        "alias": "Model",
        "model": "m",
        "score": 0.25,
        "score_binarized": 0,
        "started_at": start,
        "completed_at": start + 1500,
        "fatal_error_from": None,
        "human_minutes": 7.5,
        "dollar_equivalent": 0.5,
        "invsqrt_task_weight": 0.001,
    } | more


def reflexion_env(name: str, memories: int, *, solved: bool) -> dict[str, Any]:
    """One environment of Reflexion."""
    return {"name": name, "memory": ["I failed"] * memories, "is_success": solved}


def aider_results(*outcomes: bool, **more: Any) -> dict[str, Any]:
    """One exercise of Aider."""
    return {
        "testdir": "/benchmarks/run/python/exercises/practice/zebra",
        "testcase": "zebra",
        "model": "m",
        "edit_format": "diff",
        "tests_outcomes": list(outcomes),
        "cost": 0.5,
        "duration": 2.5,
        "test_timeouts": 0,
        "num_exhausted_context_windows": 0,
        "prompt_tokens": 100,
        "completion_tokens": 10,
    } | more


def lm_sample(number: int, score: float, name: str = "strict-match") -> dict[str, Any]:
    """A sample of lm-eval after one filter."""
    return {
        "doc_id": number,
        "doc": {"q": "2 + 2 =", "kind": "small"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "2 + 2 ="}},
        "resps": [["4", "5"]],
        "filtered_resps": ["4"],
        "filter": name,
        "metrics": ["exact_match"],
        "doc_hash": f"hash {number}",
        "exact_match": score,
    }


def helm_instance(number: int, *, passed: bool = True, changed: str = "") -> dict[str, Any]:
    """The statistics of an instance of HELM."""
    how = {"perturbation": {"name": changed, "robustness": True, "seed": 0}} if changed else {}
    values = {"exact_match": float(passed), "num_prompt_tokens": 400.0, "inference_runtime": 0.5}
    stats = [
        {"name": {"name": name, "split": "test"} | how, "count": 1, "sum": value, "mean": value}
        for name, value in values.items()
    ]
    return {"instance_id": f"id{number}", "train_trial_index": 0, "stats": stats} | how


def evals_event(number: int, kind: str, **data: Any) -> dict[str, Any]:
    """An event of OpenAI evals."""
    return {
        "run_id": "r1",
        "event_id": number,
        "sample_id": f"sums.dev.{number // 2}",
        "type": kind,
        "data": data,
        "created_by": "",
        "created_at": f"2026-01-05 09:00:{number:02}.5+00:00",
    }


def evals_run() -> list[dict[str, Any]]:
    """A run of three samples, the last without a verdict."""
    spec = {
        "completion_fns": ["model-a"],
        "eval_name": "sums.dev.v0",
        "run_config": {"seed": 7},
        "run_id": "r1",
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return [
        {"spec": spec},
        evals_event(0, "sampling", prompt="2+2=", sampled="4", usage=usage),
        evals_event(1, "match", correct=True, expected="4", picked="4"),
        evals_event(2, "sampling", prompt="3+3=", sampled="4", usage=usage),
        evals_event(3, "match", correct=False, expected="6", picked=None),
        evals_event(4, "sampling", prompt="4+4=", sampled=None),
        evals_event(5, "error", type="RateLimitError", message="slow down"),
        {"final_report": {"accuracy": 0.5}},
    ]


def human_sample(number: int, result: str = "passed") -> dict[str, Any]:
    """A sample of HumanEval with its result."""
    return {
        "task_id": f"HumanEval/{number}",
        "completion": "    return 1",
        "result": result,
        "passed": result == "passed",
    }


def plus_results() -> dict[str, Any]:
    """Results of EvalPlus: all of base and plus, base only, none."""
    statuses = [("pass", "pass"), ("pass", "fail"), ("timeout", "timeout")]
    rows = [
        {"task_id": "HumanEval/0", "solution": "x", "base_status": base, "plus_status": plus}
        for base, plus in statuses
    ]
    return {"date": "2026-01-05 09:00", "hash": "toy", "eval": {"HumanEval/0": rows}}


def shared_instance(number: int, *, correct: bool, **more: Any) -> dict[str, Any]:
    """An instance in the schema of Every Eval Ever."""
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "sums/model-a/1",
        "model_id": "vendor/model-a",
        "evaluation_name": "sums",
        "sample_id": f"id{number}",
        "interaction_type": "single_turn",
        "input": {"raw": "2+2=", "reference": ["4"]},
        "output": {"raw": ["4"]},
        "messages": None,
        "answer_attribution": [],
        "evaluation": {"score": float(correct), "is_correct": correct, "num_turns": None},
        "token_usage": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6},
        "performance": {"latency_ms": None, "generation_time_ms": 680.4},
        "error": None,
    } | more


SAMPLES: dict[str, tuple[str, str, Any]] = {
    "swe report": ("swe-bench", "model.run.json", swe_report()),
    "swe instance": ("swe-bench", "report.json", {"a__a-1": swe_instance()}),
    "swe boards": ("swe-bench", "leaderboards.json", swe_boards()),
    "swe pro": ("swe-bench", "eval_results.json", {f"instance_a__b-{'0' * 40}-v1": True}),
    "swe details": (
        "swe-bench",
        "per_instance_details.json",
        swe_boards()["leaderboards"][0]["results"][0]["per_instance_details"],
    ),
    "swe lists": (
        "swe-bench",
        "results.json",
        {"no_generation": ["a__a-2"], "no_logs": [], "resolved": ["a__a-1"]},
    ),
    "terminal run": ("terminal-bench", "results.json", terminal_run(terminal_trial())),
    "terminal trial": ("terminal-bench", "results.json", terminal_trial()),
    "harbor": ("harbor", "result.json", harbor_trial()),
    "tau": ("tau-bench", "model-airline.json", [tau_row(), tau_row(1, 0, 0.0)]),
    "tau2": ("tau2-bench", "airline.json", tau2_results(tau2_simulation())),
    "tau2 simulation": ("tau2-bench", "one.json", tau2_simulation()),
    "tau2 judge": ("tau2-judge", "summary.json", {"entries": [judged_simulation()]}),
    "bfcl": ("bfcl", "simple_score.json", bfcl_lines(5, 2, 4)),
    "livecodebench": (
        "livecodebench",
        "performances.json",
        {"performances": [performance("q", "m", 30.0), performance("r", "m", 100.0)]},
    ),
    "alpaca": ("alpaca-eval", "annotations.json", [annotation(2.0), annotation(1, "other")]),
    "judgebench": ("judgebench", "judged.jsonl", [judged_pair("A>B", "B>A")]),
    "metr": ("metr", "runs.jsonl", [metr_run(), metr_run(minute=1)]),
    "reflexion": (
        "reflexion",
        "env_results_trial_1.json",
        [reflexion_env("env_0", 1, solved=True), reflexion_env("env_1", 2, solved=False)],
    ),
    "reflexion code": (
        "reflexion",
        "humaneval.jsonl",
        [{"task_id": "HumanEval/0", "is_solved": True, "reflections": ["x"]}],
    ),
    "aider": ("aider", ".aider.results.json", aider_results(False, True)),
    "lm-eval": (
        "lm-eval",
        "samples_sums_2026-01-05T09-00-00.000001.jsonl",
        [lm_sample(0, 1.0), lm_sample(1, 0.0)],
    ),
    "lm-eval list": ("lm-eval", "model_sums.json", [lm_sample(0, 1.0), lm_sample(1, 0.0)]),
    "helm": (
        "helm",
        "per_instance_stats.json",
        [helm_instance(1), helm_instance(2, passed=False), helm_instance(1, changed="typos")],
    ),
    "openai evals": ("openai-evals", "r1_model-a_sums.jsonl", evals_run()),
    "human-eval": (
        "human-eval",
        "samples.jsonl_results.jsonl",
        [human_sample(0), human_sample(1, "timed out")],
    ),
    "evalplus": ("evalplus", "model_eval_results.json", plus_results()),
    "every eval ever": (
        "every-eval-ever",
        "sums_samples.jsonl",
        [shared_instance(0, correct=True), shared_instance(1, correct=False)],
    ),
}
"""For each kind of file the format that reads it, a name and a document."""
