"""What a comparison must say: raw rows counted one by one, and every number against them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import trialframe as tr
from reference import independent as plain

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOISE = 5 * np.sqrt(0.025 * 0.975 * (1 / 10_000 + 1 / 20_000))
"""Five standard errors of a 2.5 % level that two bootstraps estimate."""

MANY = 12
"""Clusters whose signs are still gone through one assignment at a time."""


@dataclass(frozen=True)
class Raw:
    """Two configs on the cases that both have, counted row by row."""

    case: list[str]
    n: NDArray[np.int64]  # (2, M)
    c: NDArray[np.int64]
    u: NDArray[np.int64]
    cluster: NDArray[Any] | None
    alone: tuple[int, int]

    @classmethod
    def of(
        cls, rows: pl.DataFrame, names: tuple[str, str], *, clusters: bool, failing: bool = False
    ) -> Raw:
        passed = rows["passed"].to_list()
        if failing:
            passed = [bool(verdict) for verdict in passed]
        made = plain.tally(rows["config"], rows["case_id"], passed)
        first, second = (made[name] for name in names)
        shared = sorted(first.keys() & second.keys())
        group = dict(zip(rows["case_id"], rows["cluster"], strict=True)) if clusters else {}
        n, c, u = np.array([[s[key] for key in shared] for s in (first, second)]).transpose(2, 0, 1)
        return cls(
            case=shared,
            n=n,
            c=c,
            u=u,
            cluster=np.array([group[key] for key in shared]) if clusters else None,
            alone=(len(first.keys() - second.keys()), len(second.keys() - first.keys())),
        )

    def scored(self) -> Raw:
        """Only the cases with a verdict on both sides."""
        known = (self.n > 0).all(axis=0)
        return Raw(
            case=[key for key, some in zip(self.case, known, strict=True) if some],
            n=self.n[:, known],
            c=self.c[:, known],
            u=self.u[:, known],
            cluster=None if self.cluster is None else self.cluster[known],
            alone=self.alone,
        )

    @property
    def fractions(self) -> list[Fraction]:
        sides = zip(*self.n.tolist(), *self.c.tolist(), strict=True)
        return [Fraction(y, m) - Fraction(x, n) for n, m, x, y in sides]

    @property
    def units(self) -> list[Fraction]:
        """Sums of the differences of cases or clusters."""
        if self.cluster is None:
            return self.fractions
        sums: dict[Any, Fraction] = {}
        for group, d in zip(self.cluster, self.fractions, strict=True):
            sums[group] = sums.get(group, Fraction(0)) + d
        return list(sums.values())

    @property
    def discordant(self) -> tuple[int, int]:
        a, b = 2 * self.c > self.n
        return int((a & ~b).sum()), int((b & ~a).sum())

    def flip(self, margin: Fraction = Fraction(0)) -> tuple[float, float, float]:
        if self.cluster is None:
            return plain.sign_flip([d + margin for d in self.fractions])
        sizes = dict(zip(*np.unique(self.cluster, return_counts=True), strict=True))
        order = dict.fromkeys(self.cluster)
        sums = [s + margin * int(sizes[g]) for g, s in zip(order, self.units, strict=True)]
        if len(sums) > MANY:
            return plain.sign_flip(sums)
        whole = int(np.lcm.reduce([s.denominator for s in sums]))
        return plain.sign_flip_enumerated([int(s * whole) for s in sums])


def agree(found: tr.Comparison, every: Raw) -> None:
    """Assert that a comparison says what the raw rows say."""
    raw = every.scored()
    a, b = raw.c / raw.n
    d = b - a
    mean, se, df = plain.cr2(np.column_stack([d, a, b]), None, raw.cluster)
    assert (found.cases, found.undefined) == (len(d), len(every.case) - len(d))
    assert (found.only_baseline, found.only_candidate) == raw.alone
    assert (found.wins, found.losses) == (int((d > 0).sum()), int((d < 0).sum()))
    assert found.ties == int((d == 0).sum())
    got = (found.diff, found.baseline_value, found.candidate_value)
    assert got == pytest.approx(tuple(mean), abs=1e-12)
    assert found.se == pytest.approx(se[0], rel=1e-9)
    t = plain.t_interval(mean[0], se[0], df)
    assert found.interval(method="t").low == pytest.approx(t[0], abs=1e-10)
    assert found.interval(method="t").high == pytest.approx(t[1], abs=1e-10)
    flips_agree(found, raw)
    majorities_agree(found, raw)
    single = bool((raw.n == 1).all()) and raw.cluster is None
    assert found.method == ("tango" if single else "t-cr2")
    own = plain.tango(*raw.discordant, len(d)) if single else t
    assert (found.low, found.high) == pytest.approx(own, abs=1e-7)
    assert found.df == (None if single else pytest.approx(df, rel=1e-9))
    assert found.ratio is not None
    ratio = (found.ratio.value, found.ratio.low, found.ratio.high)
    assert ratio == pytest.approx(plain.log_ratio(a, b, None, raw.cluster), rel=1e-9)
    assert found.verdict == verdict(own, found.pvalue, found.changed)
    bootstrap_agrees(found, d, raw)
    bracket_agrees(found, every)


def verdict(interval: tuple[float, float], p: float | None, changed: int) -> str:
    if p is None or p >= 0.05 or changed < 6 or interval[0] <= 0 <= interval[1]:
        return "inconclusive"
    return "better" if interval[0] > 0 else "worse"


def flips_agree(found: tr.Comparison, raw: Raw) -> None:
    both = raw.flip()[0]
    equal = bool((raw.n[0] == raw.n[1]).all())
    assert found.exact == equal
    assert found.changed == sum(s != 0 for s in raw.units)
    assert found.units == len(raw.units)
    if equal:
        assert found.permutation is None
        assert found.pvalue == pytest.approx(both, rel=1e-9)
    else:
        swapped = plain.permutation(raw.n[0].tolist(), raw.c[0].tolist(), *_second(raw))
        assert found.permutation == pytest.approx(swapped, rel=1e-9)
        assert found.pvalue == pytest.approx(max(both, swapped), rel=1e-9)


def _second(raw: Raw) -> tuple[list[int], list[int]]:
    return raw.n[1].tolist(), raw.c[1].tolist()


def majorities_agree(found: tr.Comparison, raw: Raw) -> None:
    b, c = raw.discordant
    cases, made = len(raw.case), found.majority
    assert made is not None
    assert (made.only_baseline, made.only_candidate) == (b, c)
    assert (made.pvalue, made.mid_p) == pytest.approx(plain.mcnemar(b, c), rel=1e-9)
    assert made.pvalue == pytest.approx(mcnemar([[0, b], [c, 0]], exact=True).pvalue, rel=1e-9)
    assert made.p_better == pytest.approx(plain.p_better(b, c), abs=1e-9)
    rng = np.random.default_rng(0)
    drawn = rng.dirichlet([b + 1, c + 1, cases - b - c + 1], 100_000)
    assert made.p_better == pytest.approx((drawn[:, 1] > drawn[:, 0]).mean(), abs=0.009)
    assert made.ignores_clusters == (raw.cluster is not None)
    for interval, wanted in ((found.tango, plain.tango), (found.wald_plus2, plain.wald_plus2)):
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx(wanted(b, c, cases), abs=1e-7)
    assert made.mde_best is not None
    assert plain.mcnemar_power(cases, 0.0, made.mde_best, 0.05) == pytest.approx(0.8, abs=1e-6)
    if made.mde is not None:
        psi = (b + c + 1) / (cases + 2)
        lost, won = (psi - made.mde) / 2, (psi + made.mde) / 2
        assert plain.mcnemar_power(cases, lost, won, 0.05) == pytest.approx(0.8, abs=1e-6)


def bootstrap_agrees(found: tr.Comparison, d: Floats, raw: Raw) -> None:
    draws = plain.resampled(d, None, raw.cluster)
    tails = plain.bca_tails(draws, d, raw.cluster)
    bca = found.interval(method="bca")
    for made, levels in ((found.bootstrap, (0.025, 0.975)), (bca, tails)):
        assert made is not None
        for end, level in zip((made.low, made.high), levels, strict=True):
            assert plain.holds_quantile(draws, end or 0.0, level, NOISE)


def bracket_agrees(found: tr.Comparison, every: Raw) -> None:
    n, c, u = every.n, every.c, every.u
    (a_low, b_low), (a_high, b_high) = c / (n + u), (c + u) / (n + u)
    ends = np.column_stack([b_low - a_high, b_high - a_low])
    mean, se, df = plain.cr2(ends, None, every.cluster)
    assert (found.bracket_low, found.bracket_high) == pytest.approx(tuple(mean), abs=1e-12)
    wanted = plain.imbens_manski(mean[0], mean[1], (se[0], se[1]), df)
    if not u.any() and not found.undefined:
        wanted = (found.low, found.high)  # every trial has its verdict: the interval itself
    assert (found.identified_low, found.identified_high) == pytest.approx(wanted, abs=1e-8)


def cases_agree(counts: tr.Counts, names: tuple[str, str], raw: Raw, *, sample: int) -> None:
    """Assert that the tests of single cases say what the raw rows say."""
    table = tr.regressions(counts, *names, adjust="none")
    assert table["case"].to_list() == raw.case
    n, c = raw.n, raw.c
    known = np.flatnonzero((n > 0).all(axis=0))
    for i in np.random.default_rng(0).permutation(known)[:sample]:
        row = table.row(int(i), named=True)
        cells = (int(n[0, i]), int(c[0, i]), int(n[1, i]), int(c[1, i]))
        for kind, word in (("worse", "less"), ("better", "greater")):
            if row[f"pvalue_{kind}"] is not None and min(cells[0], cells[2]) > 1:
                assert row[f"pvalue_{kind}"] == pytest.approx(
                    plain.boschloo(*cells, word), abs=2e-4
                )
        mid = tr.regressions(counts, *names, method="fisher", adjust="none").row(int(i), named=True)
        wanted = plain.fisher_mid(*cells)
        assert (mid["pvalue_worse"], mid["pvalue_better"]) == pytest.approx(wanted, abs=1e-9)
    raw_p, least = table["pvalue_worse"].to_numpy(), table["least_pvalue"].to_numpy()
    testable = ~np.isnan(raw_p) & (least <= 0.05)
    for adjust, name in (("holm", "holm"), ("bh", "fdr_bh")):
        got = tr.regressions(counts, *names, adjust=adjust)["adjusted_worse"].to_numpy()
        assert (~np.isnan(got) == testable).all()
        np.testing.assert_allclose(got[testable], multipletests(raw_p[testable], method=name)[1])
    pooled = c.sum(axis=0) / np.maximum(n.sum(axis=0), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (c[1] / n[1] - c[0] / n[0]) / np.sqrt(pooled * (1 - pooled) * (1 / n).sum(axis=0))
    moved = (n > 0).all(axis=0) & (pooled > 0) & (pooled < 1)
    gate = tr.regressions(counts, *names, method="z")
    np.testing.assert_allclose(gate["z"].to_numpy()[moved], z[moved], rtol=1e-9, atol=1e-12)
    assert {raw.case[i] for i in np.flatnonzero(moved & (z <= -1.96))} == set(
        gate.filter(status="regression")["case"]
    )
