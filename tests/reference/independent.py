"""The numbers of a comparison from their definitions: slow, plain, and with nothing of trialframe.

d is B minus A per case throughout; signs are flipped and trials permuted on Python integers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import comb, gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import integrate, optimize, stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def tally(
    config: Iterable[Any], case: Iterable[Any], passed: Iterable[bool | None]
) -> dict[Any, dict[Any, tuple[int, int, int]]]:
    """Scored trials, passes and trials without a verdict by config and case, row by row."""
    made: dict[Any, dict[Any, tuple[int, int, int]]] = {}
    for name, key, verdict in zip(config, case, passed, strict=True):
        n, c, u = made.setdefault(name, {}).get(key, (0, 0, 0))
        made[name][key] = (n + (verdict is not None), c + bool(verdict), u + (verdict is None))
    return made


def codes(labels: Sequence[Any]) -> NDArray[np.int64]:
    """Numbers 0..C-1 of labels."""
    return np.unique(np.array(labels, dtype=str), return_inverse=True)[1].ravel()


# means and t intervals


def residual_maker(weight: Floats) -> Floats:
    """I - H of a weighted mean, shape (M, M)."""
    return np.eye(len(weight)) - np.outer(np.ones(len(weight)), weight / weight.sum())


def cr2(
    values: Floats, weight: Floats | None = None, cluster: NDArray[Any] | None = None
) -> tuple[Floats, Floats, float]:
    """Mean, standard errors and df of (M, K) values: every cluster's score scaled to be unbiased.

    Scores are rows of L = cluster indicator times weights applied to (I - H) u; under independent
    cases of equal variance their covariance is G = L (I - H)(I - H)' L'. Cluster g is scaled by
    diag(L L')_g / G_g; df = tr(V)^2 / tr(V V) of the scaled covariance V.
    """
    values = np.asarray(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    w = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    group = np.arange(len(w)) if cluster is None else np.asarray(cluster)
    keep = w > 0
    values, w, group = values[keep], w[keep], group[keep]
    load = (group[None, :] == np.unique(group)[:, None]) * w
    away = load @ residual_maker(w)
    covariance, target = away @ away.T, np.diag(load @ load.T)
    if len(covariance) < 2:
        return w @ values / w.sum(), np.full(values.shape[1], np.nan), np.nan
    scale = np.sqrt(target / np.diag(covariance))
    scores = scale[:, None] * (away @ values)
    scaled = scale[:, None] * covariance * scale
    df = np.trace(scaled) ** 2 / np.trace(scaled @ scaled)
    return w @ values / w.sum(), np.sqrt((scores**2).sum(axis=0)) / w.sum(), float(df)


def cr2_root(d: Floats, cluster: NDArray[Any]) -> tuple[float, float]:
    """Bell and McCaffrey's CR2 with the matrix root (I - H)_gg^(-1/2), equal weights: se and df."""
    m = len(d)
    away = residual_maker(np.ones(m))
    rows = []
    for g in np.unique(cluster):
        inside = cluster == g
        size, vectors = np.linalg.eigh(away[np.ix_(inside, inside)])
        root = vectors @ np.diag(size**-0.5) @ vectors.T
        rows.append(np.ones(inside.sum()) @ root @ away[inside] / m)
    form = np.array(rows)
    spread = form @ form.T
    return float(np.sqrt(((form @ d) ** 2).sum())), float(
        np.trace(spread) ** 2 / np.trace(spread @ spread)
    )


def covariance(
    a: Floats, b: Floats, weight: Floats | None, cluster: NDArray[Any] | None
) -> tuple[Floats, Floats, float]:
    """Means of two values, their CR2 covariance (by polarisation) and df."""
    mean, se, df = cr2(np.column_stack([a, b, a + b]), weight, cluster)
    cross = (se[2] ** 2 - se[0] ** 2 - se[1] ** 2) / 2
    return mean[:2], np.array([[se[0] ** 2, cross], [cross, se[1] ** 2]]), df


def t_interval(mean: float, se: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """Mean -+ t se."""
    reach = stats.t.ppf((1 + level) / 2, df) * se
    return mean - reach, mean + reach


def log_ratio(
    a: Floats,
    b: Floats,
    weight: Floats | None = None,
    cluster: NDArray[Any] | None = None,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Ratio of the means B / A with a t interval on the log scale, by the delta method."""
    mean, cov, df = covariance(a, b, weight, cluster)
    slope = np.array([-1 / mean[0], 1 / mean[1]])
    ratio = float(mean[1] / mean[0])
    low, high = t_interval(np.log(ratio), np.sqrt(slope @ cov @ slope), df, level)
    return ratio, float(np.exp(low)), float(np.exp(high))


def imbens_manski(
    low: float, high: float, se: tuple[float, float], df: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval of a value known to lie between two estimates."""
    gap = (high - low) / max(se)
    t = stats.t(df)
    reach = optimize.brentq(lambda c: t.cdf(c + gap) - t.cdf(-c) - level, 0.0, 1e4, xtol=1e-13)
    return low - reach * se[0], high + reach * se[1]


# paired binary outcomes


def tango(b: int, c: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of (c - b)/n: numbers d whose score with the best q given d is within z."""
    z = stats.norm.ppf((1 + level) / 2)

    def score(d: float) -> float:
        def unlikely(q: float) -> float:
            cells = np.array([q, q + d, 1 - 2 * q - d])
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(np.array([b, c, n - b - c]) > 0, np.log(np.maximum(cells, 0)), 0)
            return float(-np.array([b, c, n - b - c]) @ logs)

        ends = (max(0.0, -d), (1 - d) / 2)
        found = optimize.minimize_scalar(
            unlikely, bounds=ends, method="bounded", options={"xatol": 1e-14}
        )
        # the optimiser never tries the ends themselves
        q = min((found.x, *ends), key=unlikely)
        spread = n * (2 * q + d * (1 - d))
        gap = c - b - n * d
        return float(gap / np.sqrt(spread)) if spread > 0 else float(np.sign(gap)) * 1e9

    def root(sign: int) -> float:
        centre, end = (c - b) / n, -sign * (1 - 1e-12)
        if (c - b) * -sign == n:
            return float(-sign)
        return float(optimize.brentq(lambda d: score(d) - sign * z, centre, end, xtol=1e-13))

    return root(1), root(-1)


def wald_plus2(b: int, c: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wald interval of a multinomial difference with half a case added to each of four cells."""
    cells = np.array([b + 0.5, c + 0.5, n - b - c + 1.0])
    share = cells / cells.sum()
    sign = np.array([-1.0, 1.0, 0.0])
    spread = (np.diag(share) - np.outer(share, share)) / cells.sum()
    reach = stats.norm.ppf((1 + level) / 2) * np.sqrt(sign @ spread @ sign)
    centre = sign @ share
    return max(-1.0, float(centre - reach)), min(1.0, float(centre + reach))


def mcnemar(b: int, c: int) -> tuple[float, float]:
    """Exact and mid-p McNemar."""
    if b == c:
        return 1.0, 1.0
    exact = stats.binomtest(min(b, c), b + c).pvalue
    return float(exact), float(exact - stats.binom.pmf(min(b, c), b + c, 0.5))


def p_better(b: int, c: int) -> float:
    """P(only B > only A) under a uniform Dirichlet prior, by integration of their share."""
    share = stats.beta(c + 1, b + 1)
    middle = share.mean()
    points = sorted({min(max(middle, 0.5), 1.0), 0.5, 1.0})
    parts = pairwise(points)
    return float(sum(integrate.quad(share.pdf, x, y, epsabs=1e-13, limit=200)[0] for x, y in parts))


def mcnemar_power(n: int, only_a: float, only_b: float, alpha: float) -> float:
    """Probability that exact McNemar rejects, over all tables."""
    changed = np.arange(n + 1)
    chance = stats.binom.pmf(changed, n, only_a + only_b)
    total = 0.0
    for m in changed[chance > 1e-16]:
        b = np.arange(m + 1)
        rejects = np.minimum(1, 2 * stats.binom.cdf(np.minimum(b, m - b), m, 0.5)) < alpha
        total += chance[m] * stats.binom.pmf(b, m, only_b / (only_a + only_b))[rejects].sum()
    return float(total)


def non_inferior_tango(b: int, c: int, n: int, margin: Fraction) -> tuple[bool, float, float]:
    """Whether a loss of the margin is excluded with one trial a side; Tango's bound and p."""
    low, _ = tango(b, c, n)
    shifted = [margin - 1] * b + [margin + 1] * c + [margin] * (n - b - c)
    p = sign_flip(shifted)[1]
    return low > -margin and p < 0.025, low, p


# exact tests on integers


def _tails(
    pieces: Iterable[dict[int, int]], keep: Sequence[Callable[[int], bool]]
) -> list[Fraction]:
    """Probabilities that a sum of independent integers (value -> weight) meets conditions.

    All distributions at once are one large integer with a field of bits for every possible sum.
    """
    packed, width, offset, total = 1, 8, 0, 1
    pieces = list(pieces)
    for piece in pieces:
        total *= sum(piece.values())
    width += total.bit_length() + -total.bit_length() % 8
    for piece in pieces:
        least = min(piece)
        offset += least
        packed = sum(times * (packed << (width * (x - least))) for x, times in piece.items())
    raw, step = packed.to_bytes(packed.bit_length() // 8 + width, "little"), width // 8
    sums = {offset + i // step: raw[i : i + step] for i in range(0, len(raw), step)}
    held = [
        sum(int.from_bytes(field, "little") for at, field in sums.items() if wanted(at))
        for wanted in keep
    ]
    return [Fraction(part, total) for part in held]


def sign_flip(d: Iterable[Fraction]) -> tuple[float, float, float]:
    """Two-sided, greater and less p-values over all signs, exactly."""
    parts = [Fraction(x) for x in d if x]
    whole = lcm(1, *(x.denominator for x in parts))
    steps = [int(x * whole) for x in parts]
    common = gcd(*steps) or 1
    steps = [x // common for x in steps]
    seen = sum(steps)
    # e = 1 counts as 0 and e = -1 as -2 |a|: half the width
    pieces = [{0: 1, -1 * abs(x): 1} for x in steps]
    top = sum(abs(x) for x in steps)
    found = _tails(
        pieces,
        [
            lambda half: abs(top + 2 * half) >= abs(seen),
            lambda half: top + 2 * half >= seen,
            lambda half: top + 2 * half <= seen,
        ],
    )
    return float(found[0]), float(found[1]), float(found[2])


def sign_flip_enumerated(d: Sequence[Any]) -> tuple[float, float, float]:
    """The same by going through every assignment of signs."""
    changed = [x for x in d if x]
    seen = sum(changed)
    sums = [
        sum(s * x for s, x in zip(signs, changed, strict=True))
        for signs in product((1, -1), repeat=len(changed))
    ]
    count = len(sums)
    return (
        sum(abs(s) >= abs(seen) for s in sums) / count,
        sum(s >= seen for s in sums) / count,
        sum(s <= seen for s in sums) / count,
    )


def permutation(
    n_a: Sequence[int], c_a: Sequence[int], n_b: Sequence[int], c_b: Sequence[int]
) -> float:
    """Two-sided p of |sum c_b/n_b - c_a/n_a| over all exchanges of trials within cases."""
    seen = sum(
        (Fraction(y, m) - Fraction(x, n) for n, x, m, y in zip(n_a, c_a, n_b, c_b, strict=True)),
        Fraction(0),
    )
    start, steps, weights = Fraction(0), [], []
    for n, x, m, y in zip(n_a, c_a, n_b, c_b, strict=True):
        t, least = x + y, max(0, x + y - n)
        taken = range(least, min(m, t) + 1)
        start += Fraction(least, m) - Fraction(t - least, n)
        steps.append(Fraction(1, m) + Fraction(1, n))
        weights.append([comb(m, k) * comb(n, t - k) for k in taken])
    moving = [(s, w) for s, w in zip(steps, weights, strict=True) if len(w) > 1]
    if not moving:
        return 1.0
    whole = lcm(*(s.denominator for s, _ in moving))
    unit = Fraction(gcd(*(int(s * whole) for s, _ in moving)), whole)
    pieces = [{int(s / unit) * k: x for k, x in enumerate(w)} for s, w in moving]
    (p,) = _tails(pieces, [lambda at: abs(start + unit * at) >= abs(seen)])
    return float(p)


# bootstrap


def resampled(
    d: Floats,
    weight: Floats | None = None,
    cluster: NDArray[Any] | None = None,
    *,
    resamples: int = 20_000,
    seed: int = 1,
) -> Floats:
    """Means of resamples of cases or whole clusters, gathered by index."""
    rng = np.random.default_rng(seed)
    w = np.ones(len(d)) if weight is None else weight
    group = np.arange(len(d)) if cluster is None else codes(cluster)
    top, low = np.bincount(group, w * d), np.bincount(group, w)
    made = []
    for _ in range(0, resamples, 1000):
        index = rng.integers(len(top), size=(1000, len(top)))
        made.append(top[index].sum(axis=1) / low[index].sum(axis=1))
    return np.concatenate(made)


def bca_tails(
    draws: Floats, d: Floats, cluster: NDArray[Any] | None = None, tail: float = 0.025
) -> tuple[float, float]:
    """Levels of the BCa interval below and above."""
    group = np.arange(len(d)) if cluster is None else codes(cluster)
    top, low = np.bincount(group, d), np.bincount(group)
    left = (top.sum() - top) / (low.sum() - low)
    pull = left.mean() - left
    speed = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    mean, near = d.mean(), 1e-12
    share = ((draws < mean - near).sum() + (np.abs(draws - mean) <= near).sum() / 2) / len(draws)
    z = stats.norm.ppf(share)
    ends = z + stats.norm.ppf([tail, 1 - tail])
    lower, upper = stats.norm.cdf(z + ends / (1 - speed * ends))
    return float(lower), float(upper)


def holds_quantile(draws: Floats, end: float, level: float, slack: float) -> bool:
    """Whether `end` is the quantile of the draws at a level, up to noise of the level."""
    near = 1e-9
    return (draws < end - near).mean() <= level + slack and (
        draws <= end + near
    ).mean() >= level - slack


# single cases


def boschloo(n_a: int, c_a: int, n_b: int, c_b: int, alternative: str) -> float:
    """SciPy's test with configs as columns; "less": B passes less often."""
    table = [[c_b, c_a], [n_b - c_b, n_a - c_a]]
    return float(stats.boschloo_exact(table, alternative=alternative, n=256).pvalue)


def fisher_mid(n_a: int, c_a: int, n_b: int, c_b: int) -> tuple[float, float]:
    """One-sided mid-p, B less and B more often."""
    here = stats.hypergeom(n_a + n_b, c_a + c_b, n_b)
    half = here.pmf(c_b) / 2
    return float(here.cdf(c_b) - half), float(here.sf(c_b - 1) - half)
