"""How much is simulated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Replicates by the cost of a method.

    Attributes:
        runs: Of methods that work on all replicates at once.
        few: Of exact tests, one replicate at a time.
        boot: Of bootstraps.
        resamples: Resamples of each bootstrap.
        cases: Numbers of independent cases.
        some: Numbers of cases where a full grid would take too long.
        configs: Numbers of configs that are ranked.
        looks: Cases up to which evidence is looked at after each.
    """

    runs: int
    few: int
    boot: int
    resamples: int
    cases: tuple[int, ...]
    some: tuple[int, ...]
    configs: tuple[int, ...]
    looks: int


FULL = Scale(
    runs=10_000,
    few=2_000,
    boot=1_000,
    resamples=999,
    cases=(3, 5, 10, 20, 50, 100, 200, 500),
    some=(10, 20, 50, 200),
    configs=(3, 6, 10, 20),
    looks=500,
)
QUICK = Scale(
    runs=200,
    few=20,
    boot=10,
    resamples=99,
    cases=(3, 20),
    some=(10,),
    configs=(3,),
    looks=50,
)
