"""What a gate says: a headline, the reasons, one sentence that claims no more than they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe.errors import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.decide.gate import Decision
    from trialframe.kernels.gate import Ledger


MOST_NAMED = 20
"""Broken cases that people are told by name."""
_LONGEST = 80


def headline(made: Decision, blocked: str | None) -> str:
    """One line: the verdict and the numbers that decided it."""
    broken = f"breaks {_of(made.losses, made.solved)} that {made.baseline} solves"
    gains = f"gains {many(made.wins, 'case')}"
    if made.verdict == "ship":
        test = f"p = {made.pvalue:.3g}"
        return (
            f"Ship: {made.candidate} {gains} and {broken} "
            f"(net gain {made.net_gain:g} at {made.break_cost:g} per broken case, {test})."
        )
    if made.verdict == "dont_ship":
        return f"Don't ship: {made.candidate} {_breach(made) or f'{broken} and {gains}'}."
    if blocked is not None:
        return f"Hold: {blocked}."
    if made.wins_missing is None:
        return (
            f"Hold: no number of wins would do: {made.candidate} {broken}, {percent(made.breakage)}"
            f" where {percent(made.max_breakage)} is allowed."
        )
    more = many(made.wins_missing, "more clean win")
    return f"Hold: {more} would be needed: {made.candidate} {gains} and {broken}."


def _breach(made: Decision) -> str:
    """The first group that is breached, and how many others are."""
    found = made.groups.filter("breached")
    if found.is_empty():
        return ""
    first = found.row(0, named=True)
    text = (
        f"breaks {_of(first['losses'], first['solved'])} that {made.baseline} solves in "
        f"{first['name']} and gains {first['wins']} there"
    )
    others = found.height - 1
    return text + (f"; {many(others, 'other group')} {_is(others)} breached too" if others else "")


def reasons(made: Decision, blocked: str | None, found: Ledger) -> tuple[str, ...]:
    """Every condition of the gate and how it came out, one text each."""
    alpha, gain = f"{made.alpha:g}", made.net_gain
    breached = made.groups.filter("breached")
    told = [] if blocked is None else [blocked]
    told += [f"{name}: {why}" for name, why in breached.select("name", "why").rows()]
    balance = f"{many(made.wins, 'win')} - {made.break_cost:g} x {many(made.losses, 'loss')}"
    told.append(f"net gain {gain:g} = {balance}: {'above 0' if gain > 0 else 'not above 0'}")
    told.append(
        f"p = {made.pvalue:.3g} of as many wins if they just paid for the losses: "
        f"{'below' if found.proven else 'not below'} {alpha}"
    )
    told.append(
        f"breakage {many(made.losses, 'loss')} of {made.solved:,} solved, "
        f"{percent(made.breakage)}: {'above' if found.broken else 'within'} the limit of "
        f"{percent(made.max_breakage)}"
        if made.solved
        else f"no breakage: {made.baseline} solves no case that could break"
    )
    if made.verdict == "dont_ship" and breached.is_empty():
        told.append(
            f"p = {made.p_losses:.3g} of as many losses if a loss were as likely as a win: "
            f"below {alpha}"
        )
    if made.wins_missing and made.wins_missing > (left := made.cases - made.solved - made.wins):
        told.append(
            f"{many(made.wins_missing, 'further win')} would be needed, and only "
            f"{many(left, 'case')} {_is(left)} left that neither solves: enlarge the suite"
        )
    return tuple(told)


def claim(made: Decision, blocked: str | None) -> str:
    """One sentence, no stronger than the verdict."""
    names = f"{made.candidate} against {made.baseline}"
    worth = f"a broken case weighing as much as {made.break_cost:g} gained"
    if made.verdict == "ship":
        return (
            f"{names}: on cases like these it gains more than it breaks, {worth}, "
            f"tested at {made.alpha:g} on {many(made.cases, 'shared case')}."
        )
    if made.verdict == "dont_ship":
        parts = made.groups.filter("breached")["name"].to_list()
        if parts:
            where = ", ".join(parts)
            return (
                f"{names}: in {where} it breaks more than is allowed, whatever it gains elsewhere."
            )
        return f"{names}: on cases like these it breaks more than it gains."
    if blocked is not None:
        return f"{names}: these cases cannot tell which is better."
    return (
        f"{names}: it is not shown that it gains more than it breaks, {worth}, within the limits."
    )


def why_breached(row: dict[str, float], max_breakage: float, *, broken: bool) -> str:
    """Why a group is breached."""
    told = []
    if row["net_gain"] <= 0:
        wins, losses = int(row["wins"]), int(row["losses"])
        counted = f"{many(losses, 'loss')} against {many(wins, 'win')}"
        alone = (losses, wins) == (1, 0)
        told.append(f"{'1 loss, no win' if alone else counted}: net gain {row['net_gain']:g}")
    if broken:
        told.append(
            f"breakage {int(row['losses']):,} of {int(row['solved']):,}, "
            f"{percent(row['breakage'])}: above the limit of {percent(max_breakage)}"
        )
    return "; ".join(told)


def broken_cases(names: Sequence[str]) -> str:
    """A line with the first of the broken cases by name, and how many more there are.

    Examples:
        >>> broken_cases(["b1", "b2"])
        'Broken cases: b1, b2'
    """
    shown = [visible(name) for name in names[:MOST_NAMED]]
    texts = [x if len(x) <= _LONGEST else f"{x[: _LONGEST - 20]}...{x[-16:]}" for x in shown]
    rest = len(names) - len(texts)
    word = "Broken case" if len(names) == 1 else "Broken cases"
    return f"{word}: {', '.join(texts)}" + (f" and {rest:,} more" if rest else "")


def many(number: int, word: str) -> str:
    """A number and its word in the singular or the plural.

    Examples:
        >>> many(1, "case"), many(2_000, "loss")
        ('1 case', '2,000 losses')
    """
    return f"{number:,} {word}" + ("" if number == 1 else "es" if word.endswith("s") else "s")


def percent(share: float) -> str:
    """A share in per cent.

    Examples:
        >>> percent(0.1), percent(11 / 109)
        ('10 %', '10.09 %')
    """
    return f"{100 * share:.4g} %"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _of(losses: int, solved: int) -> str:
    return f"{losses or 'none'} of the {many(solved, 'case')}"
