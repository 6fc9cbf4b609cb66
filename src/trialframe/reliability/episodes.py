"""Inside episodes: partial credit for subtasks, and where the choice of tools falls apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ColumnError, TrialsError
from trialframe.kernels.episodes import onset, weighted_share, window_entropy
from trialframe.reliability._events import Events, averaged, events_of, means

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import NDArray

    from trialframe.reliability._events import EventKeys

    Floats = NDArray[np.float64]

PER = ("config", "trial")
THRESHOLD = 1.711
"""Bits; at windows of five calls it takes four different tools to exceed it."""


def gds(
    subtasks: Any,
    *,
    done: str = "done",
    weight: str | None = None,
    per: str = "config",
    units: str = "clusters",
    level: float = 0.95,
    **columns: Unpack[EventKeys],
) -> pl.DataFrame:
    """Graceful degradation score: weighted share of the subtasks that an episode completes.

    Use it where failing late is better than failing at once. Do not mix it with the score of the
    same name that averages the partial credit of failed runs only (HorizonBench).

    Args:
        subtasks: One row per subtask of a trial.
        done: Column that says whether it was completed; null counts as not known, and the whole
            trial is left out and reported.
        weight: Column with its weight, >= 0, on any scale; None for equal weights.
        per: "config" (mean over trials, then cases, with an interval) or "trial" (one score a
            trial, to go into `tr.counts` as `score` or `tr.decay_curve`).
        units: "clusters" when there are some, or "cases".
        level: Nominal coverage, in (0, 1).
        **columns: Where `config`, `case`, `trial` and `cluster` are.

    Returns:
        One row per config with `value` and its interval, or one per trial with `score`.

    Raises:
        ColumnError: A column is missing or `done` holds no truth values.
        TrialsError: Negative weights, null keys, or no rows.

    Notes:
        GDS = sum of w_i [i done] / sum of w_i in an episode, averaged over trials, then cases.

    References:
        Khanal et al. (2026), arXiv:2603.29231.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 4, "done": [True, True, False, True], "w": [4, 3, 2, 1]}
        >>> tr.gds(rows, weight="w")["value"].to_list()
        [0.8]
    """
    level = _checks.between(level, "level", inclusive=False)
    _checks.one_of(per, "per", PER)
    _checks.one_of(units, "units", ("clusters", "cases"))
    wanted = {"done": done} | ({} if weight is None else {"weight": weight})
    found = events_of(subtasks, columns, wanted)
    if found.rows.schema["done"] != pl.Boolean:
        raise ColumnError(
            f"done: column {done!r} is {found.rows.schema['done']}, must be true or false."
        )
    weights = _weights(found.rows, weight)
    known = found.rows["done"].is_not_null().to_numpy()
    episode = found.rows["episode"].to_numpy()
    score = weighted_share(found.rows["done"].fill_null(value=False).to_numpy(), weights, episode)
    score[np.bincount(episode, ~known) > 0] = np.nan
    episodes = found.episodes.with_columns(
        pl.Series("score", score).fill_nan(None),
        pl.Series("subtasks", np.bincount(episode)),
    )
    if per == "trial":
        return episodes
    return means(averaged(episodes, "score", level, clusters=units == "clusters"), "gds")


def _weights(rows: pl.DataFrame, weight: str | None) -> Floats:
    if weight is None:
        return np.ones(rows.height)
    if not rows.schema["weight"].is_numeric():
        raise ColumnError(f"weight: column {weight!r} is {rows.schema['weight']}, not a number.")
    value = rows["weight"].cast(pl.Float64)
    good = (value >= 0) & value.is_finite()
    if bad := int((~good.fill_null(value=False)).sum()):
        raise TrialsError(f"{weight!r} must be known, finite and >= 0; {bad:,} rows are not.")
    return value.to_numpy()


def mop(
    calls: Any,
    *,
    action: str = "action",
    step: str | None = None,
    window: int = 5,
    threshold: float = THRESHOLD,
    rise: float = 0.0,
    paper_compat: bool = False,
    per: str = "trial",
    units: str = "clusters",
    level: float = 0.95,
    **columns: Unpack[EventKeys],
) -> pl.DataFrame:
    """Meltdown onset: the first step where the choice of tools is disordered, and ever more so.

    The defaults were calibrated on one data set: look at `entropy_max` of runs that are known to
    be good before reading anything into an onset. HorizonBench means something else by MOP.

    Args:
        calls: One row per tool call.
        action: Column with the tool.
        step: Column with the order of the calls in a trial; None for the order of the rows.
        window: Calls in a window, >= 2.
        threshold: Entropy in bits that must be exceeded, >= 0.
        rise: How much entropy must have risen since `window` calls ago, more than this.
        paper_compat: Also look at windows that have not filled up, with entropy before the start
            as 0. Then four different tools at the start of a run are a meltdown at step 3.
        per: "trial" (one row a trial) or "config" (share of trials with a meltdown).
        units: "clusters" when there are some, or "cases".
        level: Nominal coverage, in (0, 1).
        **columns: Where `config`, `case`, `trial` and `cluster` are.

    Returns:
        One row per trial with `onset` (0-based, null for never), `steps`, `entropy_max` over full
        windows and `judged` (whether the trial was long enough to be judged), or one per config
        with the share of judged trials that melt down; `missing` were too short.

    Raises:
        ColumnError: A column is missing.
        TrialsError: Null keys or actions, repeated steps, or no rows.

    Notes:
        H(t) = -sum p log2 p over the tools of the last w calls; onset is the first t >= 2 w - 1
        with H(t) > threshold and H(t) - H(t - w) > rise.

    References:
        Khanal et al. (2026), arXiv:2603.29231.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 12, "action": list("rrrrrreswgtb")}
        >>> tr.mop(rows)["onset"].to_list(), tr.mop(rows, paper_compat=True)["onset"].to_list()
        ([9], [8])
    """
    level = _checks.between(level, "level", inclusive=False)
    window = _checks.integer(window, "window", low=2, high=10_000)
    threshold = _checks.between(threshold, "threshold", high=64.0)
    rise = _checks.between(rise, "rise", low=-64.0, high=64.0)
    _checks.one_of(per, "per", PER)
    _checks.one_of(units, "units", ("clusters", "cases"))
    found = events_of(calls, columns, {"action": action}, step)
    if missing := found.rows["action"].null_count():
        raise TrialsError(f"{action!r} is null in {missing:,} rows. Name what was called.")
    episodes = _onsets(found, window, threshold, rise, full=not paper_compat)
    if per == "trial":
        return episodes
    melted = pl.when("judged").then(pl.col("onset").is_not_null())
    rows = averaged(
        episodes.with_columns(melted=melted), "melted", level, clusters=units == "clusters"
    )
    return means(rows, "meltdown")


def _onsets(
    found: Events, window: int, threshold: float, rise: float, *, full: bool
) -> pl.DataFrame:
    """One row per episode."""
    episode = found.rows["episode"].to_numpy()
    code = found.rows["action"].cast(pl.String).rank("dense").to_numpy().astype(np.int64)
    size = np.bincount(episode)
    position = np.arange(len(episode)) - np.repeat(np.cumsum(size) - size, size)
    entropy = window_entropy(code, position, window)
    first = onset(entropy, position, episode, window, threshold, rise, full=full)
    top = np.full(len(size), -1.0)
    whole = position >= window - 1
    np.maximum.at(top, episode[whole], entropy[whole])
    least = 2 * window if full else 1
    return found.episodes.with_columns(
        onset=pl.Series(first).replace(-1, None),
        steps=pl.Series(size.astype(np.int64)),
        entropy_max=pl.Series(top).replace(-1.0, None),
        judged=pl.Series(size >= least),
    )
