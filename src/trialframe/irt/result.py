"""What a fit holds and what can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.irt import diagnose, select, subset
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from trialframe.charts._theme import Chart, Theme
    from trialframe.counts import Counts
    from trialframe.irt._solution import Solution
    from trialframe.irt._table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence(Result):
    """How a fit came to its end.

    Attributes:
        converged: Whether a maximum was reached: the last change below the tolerance and not
            cut short, every derivative below 0.001 in units of the root of its information (of 1,
            if that is less), no item without a finite maximum; with "pymc", whether R-hat is at
            most 1.01 and the effective sample size at least 400.
        status: "converged", "no finite maximum" (parameters of some cases run away), "stuck" (no
            step climbs), "out of iterations"; with "pymc" "converged" or "chains disagree".
        iterations: EM iterations, or draws in all chains.
        gradient: Largest absolute derivative of the objective at the end; None with "pymc".
        path: The objective after every iteration, never falling.
        nodes: Quadrature nodes of the last iteration.
        rhat: Largest R-hat over all parameters ("pymc").
        ess: Smallest bulk effective sample size ("pymc").
        divergences: Divergent transitions ("pymc").
    """

    converged: bool
    iterations: int
    gradient: float | None = None
    path: tuple[float, ...] = field(default=(), repr=False)
    nodes: int | None = None
    rhat: float | None = None
    ess: float | None = None
    divergences: int | None = None
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IrtFit(Result):
    """A fitted item response model; make it with `tr.fit_irt`.

    Attributes:
        model: "1pl", "2pl" or "hierarchical".
        method: "mml" or "pymc".
        configs: Number of configs.
        cases: Number of cases.
        trials: Scored trials.
        priors: The priors, in words.
        identification: What fixes location, scale and sign.
        items: One row per case: `case`, `cluster` when there are clusters, `a, a_se, b, b_se`,
            `information` (of one trial, mean over abilities), `slope, slope_se` (on the ability
            from all other cases, its sign free), `n, c, configs, rate`, `flags`: "all pass",
            "all fail", "no trials", "one config", "negative" (slope below zero beyond chance),
            "separated" (some ability divides passes from fails), "at bound", "runs away" (no
            finite maximum: the numbers are where the fit stopped, not estimates).
        abilities: One row per config: `config, ability` (posterior mean), `se` (posterior
            standard deviation, the items taken as known), `low, high` (ability -+ z se),
            `case_se` (error over clusters, or over cases where there are fewer than 5 clusters,
            whatever the model says), `mle, mle_se` (null
            when all trials pass or fail), `n, c, cases, rate` (mean over cases), `block` (configs
            connected by shared cases), `flags`.
        loglik: Marginal log likelihood with binomial coefficients; None with "pymc".
        objective: The same plus the log prior without its constants; None with "pymc".
        scales: Standard deviations of config, case and config-by-case effects ("hierarchical").
        convergence: How the fit came to its end.
        level: Nominal coverage of the intervals.
        warnings: What to know before the fit is used.

    Examples:
        >>> import trialframe as tr
        >>> names = [f"m{i}" for i in range(8)]
        >>> fit = tr.fit_irt(tr.counts(tr.simulate(configs=names, cases=40, trials=5, seed=1)))
        >>> fit.pick(3)["case"].n_unique(), fit.predict().height
        (3, 320)
    """

    model: str
    method: str
    configs: int
    cases: int
    trials: int
    priors: str
    identification: str
    items: pl.DataFrame
    abilities: pl.DataFrame
    loglik: float | None
    objective: float | None
    scales: dict[str, float]
    convergence: Convergence
    level: float
    warnings: tuple[str, ...]
    table: Table = field(repr=False, metadata={"export": False})
    solution: Solution = field(repr=False, metadata={"export": False})
    trace: Any = field(default=None, repr=False, metadata={"export": False})

    def __repr__(self) -> str:
        """Model, size, how the fit ended and what to know before it is used."""
        size = f"{self.configs} configs, {self.cases:,} cases, {self.trials:,} trials"
        said = f"IrtFit: {self.model} by {self.method}, {size}, {self.convergence.status}"
        return "\n".join([said, *(f"- {text}" for text in self.warnings)])

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """Curves of the cases above the information of the suite; see `Result.plot`."""
        from trialframe import charts

        return charts.items(
            select.curves(self),
            self.information(),
            self.abilities,
            model=self.model,
            theme=theme,
            width=width,
        )

    def predict(self) -> pl.DataFrame:
        """Pass probabilities of every config on every case, tried or not.

        Returns:
            One row per config and case: `config, case, probability, n, c` at the posterior mean
            ability; null for configs and cases without trials.
        """
        return select.predicted(self.table, self.solution)

    def pick(
        self, n: int, *, by: str = "information", at: float | Sequence[float] | None = None
    ) -> pl.DataFrame:
        """The n cases that tell configs apart best.

        Do not test the same runs on cases that were picked by them: what looked most different
        regresses to the mean. Pick on other runs, or use `pirt`.

        Args:
            n: How many, from 1 to the number of fitted cases.
            by: "information": mean over abilities of a^2 P (1 - P); "maximin": add, one by one,
                the case that leaves the worst-measured ability with most information; "spread":
                variance over configs of P.
            at: Abilities to look at, one or several; None for those of the configs.

        Returns:
            One row per case, best first: `rank, case, value, a, b, rate, ties, flags`. `value` is
            the criterion; with "maximin" the least information after adding the case. `ties`
            counts the fitted cases with the same a and b, itself included: where it is above 1
            the order among them means nothing.

        Raises:
            ArgumentError: n is out of range, or the criterion does not exist.
        """
        return select.picked(self, n, by=by, at=at)

    def information(self, at: Sequence[float] | None = None, *, of: str = "test") -> pl.DataFrame:
        """Fisher information of one trial per case, at some abilities.

        Args:
            at: Abilities; None for -3, -2.75, ..., 3.
            of: "test": summed over cases, with the error of the ability it allows; "items".

        Returns:
            One row per ability, `ability, information, se`, or per ability and case, `ability,
            case, information`.
        """
        return select.informed(self, at, of=of)

    def pirt(self, counts: Counts, *, level: float | None = None) -> pl.DataFrame:
        """Scores of the whole suite from counts of some of its cases (p-IRT).

        Use it for new configs that ran a subset. It leans on the model for every case not run;
        `full_suite` does not, where the subset is a random sample.

        Args:
            counts: Counts of any configs on fitted cases.
            level: Nominal coverage; None for that of the fit.

        Returns:
            One row per config: `config, value, se, low, high, seen, unseen` (means over the
            cases run and over the predicted rest), `ability, ability_se, cases, suite, level`.

        Raises:
            CountsError: A case that was not fitted.

        Notes:
            value = (n / N) mean(seen) + (1 - n / N) mean(P unseen), P averaged over the
            posterior of the ability. se holds what the ability leaves open (case to case, when
            that is more than the model says) and the noise of one trial per unseen case.

        References:
            Polo et al. (2024), tinyBenchmarks, arXiv:2402.14992.
        """
        return subset.pirt(self, counts, self._level(level))

    def full_suite(self, counts: Counts, *, level: float | None = None) -> pl.DataFrame:
        """Scores of the whole suite from a sample of cases, regressed on the other configs.

        The regression estimator of a finite population mean: how hard a case is for the other
        configs is known for all cases, so only what it leaves unexplained is sampled. Valid for a
        random sample of cases whether or not the model holds; not for cases picked by outcome.

        Args:
            counts: Counts of any configs on fitted cases, at least 5 cases each.
            level: Nominal coverage; None for that of the fit.

        Returns:
            One row per config: `config, value, se, low, high, plain, plain_se` (the mean of the
            sample by itself), `r2`, `worth` (random cases whose plain mean is as exact),
            `cases, suite, df, level`. Null where fewer than 5 cases were run.

        Raises:
            CountsError: A case that was not fitted.

        Notes:
            value = mean_N(x' beta) + mean_n(y - x' beta), x the mean pass rate of the other
            configs (model probabilities where they did not run the case); se^2 = (1 - n / N)
            s_e^2 / n times the leverage of the mean; t with n - 2 degrees of freedom; worth =
            s_y^2 / (se^2 + s_y^2 / N).

        References:
            Särndal, Swensson and Wretman (1992), Model Assisted Survey Sampling, ch. 6.
        """
        return subset.full_suite(self, counts, self._level(level))

    def item_fit(self, *, of: str = "items") -> pl.DataFrame:
        """Mean squares of residuals: where the model is off.

        Args:
            of: "items" (cases) or "configs".

        Returns:
            One row per case or config: `infit, infit_z, outfit, outfit_z, cells`; 1 is expected,
            more is noise that the model does not know, less is too regular. Null for cases that
            all pass or all fail.

        Notes:
            Residuals c - n P, squared, over n P (1 - P): averaged (outfit), or sums over sums
            (infit). z is the distance from 1 in standard deviations under binomial trials.
        """
        return diagnose.fit_of(self, of)

    def local_dependence(self, top: int = 20) -> pl.DataFrame:
        """Pairs of cases that agree more, or less, than their difficulties explain (Yen's Q3).

        Args:
            top: How many pairs to return, >= 1.

        Returns:
            The pairs farthest from chance: `case, other, q3` (correlation over configs of the
            residuals c / n - P), `excess` (q3 less its mean), `configs, z, pvalue, adjusted`
            (Bonferroni over all pairs that are judged). Pairs with too little information are not
            judged; with few configs only strong dependence can be told from chance.

        Notes:
            z = sum_j (c_ij - n_ij P_ij)(c_kj - n_kj P_kj) over the root of sum_j of the products
            of the binomial variances.

        References:
            Yen (1984), Appl. Psychol. Meas. 8:125; Christensen et al. (2017), ibid. 41:178.
        """
        return diagnose.dependent(self, _checks.integer(top, "top", low=1))

    def bootstrap(
        self,
        *,
        resamples: int = 1000,
        units: str = "clusters",
        level: float | None = None,
        seed: int = 0,
    ) -> pl.DataFrame:
        """Ability intervals from resampled cases, which hold what the model does not know.

        Args:
            resamples: How many, >= 100.
            units: "clusters" (where there are any) or "cases".
            level: Nominal coverage; None for that of the fit.
            seed: Seed of the draws.

        Returns:
            One row per config: `config, ability, se, low, high` (percentiles around the
            estimate), `rank, rank_low, rank_high`, `units, resamples, level`.

        Notes:
            Cases (whole clusters) are drawn with replacement, the same for every config, and
            abilities estimated anew with the items as fitted; draws are stretched by 1 / (1 - h),
            h the share of information that fitting the items used up (about 2 / configs).
        """
        resamples = _checks.integer(resamples, "resamples", low=100)
        _checks.one_of(units, "units", ("clusters", "cases"))
        seed = _checks.integer(seed, "seed", low=0)
        return diagnose.bootstrapped(self, resamples, units, self._level(level), seed)

    def _level(self, level: float | None) -> float:
        if level is None:
            return self.level
        return _checks.between(level, "level", inclusive=False)
