"""Messages of functions said in options of commands: keep="first" is --keep first."""

from __future__ import annotations

import ast
import re
import shlex

from trialframe.cli._conditions import condition
from trialframe.cli._options import KNOWN, NAMED

RENAMED = {"format": "from", "metric": "scorer"}
"""Arguments of `tr.read` whose option has another name: --format is that of the output."""

JUDGED = ("judge", "label", "split", "held_out", "tuned_on", "verdicts")
"""Arguments of the functions about judges, all options of `trialframe judge`."""

_PLANNED = ("baseline", "candidate", "rate", "icc", "correlation", "discordance", "trials")
_STATED = ("adjust", "effect", "estimand", "method", "mode", "priors", "short")
_OTHERS = (
    "threshold",
    "keep",
    "order",
    "edges",
    "attempts",
    "unscored",
    "zero_is_missing",
    "by",
    "units",
    *JUDGED,
    *_PLANNED,
    *_STATED,
    "format",
    "metric",
    "cases",
    "absent",
    "errors",
)
_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_BARE = r"(?=[,).:; ]|$)"
_NAMES = "|".join(sorted(name for name in {*KNOWN, *_OTHERS} if len(name) > 1))
_CALL = re.compile(r"\btr\.\w+\(\.\.\., ([^()]*)\)")
_BOTH = re.compile(r"\b\w+=\S* \(on the command line (--[\w-]+)\)")
_MEANT = re.compile(
    r"verdicts=\{[^{}]*\}(?: or verdicts=\{[^{}]*\})* \(with `trialframe judge [^:]*: (.*?)\);"
)
_POLICY = re.compile(rf"\bunscored\[({_TEXT})\] == ({_TEXT}|[\w.+-]+\b)")
_ARGUMENT = re.compile(
    rf"(?<![\w.\[-])(?<!--map )({_NAMES})="
    rf"(?:(\[[^\]]*\])|pl\.col\(({_TEXT})\) == ({_TEXT})|({_TEXT}(?: or {_TEXT})*)"
    rf"|(\d+(?:\.\d+)?|None\b)|(\.\.\.)( (?=[A-Z])|$)?|{_BARE})"
    r"( of tr\.read)?"
)


def as_options(message: str) -> str:
    r"""A message with arguments of functions in it, said in options.

    Examples:
        >>> as_options('Choose keep="first", or config=[\'model\', \'run\'].')
        'Choose --keep first, or --config model --config run.'
        >>> as_options('Give keep="first" or "last" for copies.')
        'Give --keep first or --keep last for copies.'
        >>> as_options('Map them: passed=pl.col("grade") == "C". Give threshold=, the score.')
        "Map them: --passed 'grade == C'. Give --threshold, the score."
        >>> as_options("the score must be 0 or 1, else give threshold=")
        'the score must be 0 or 1, else give --threshold'
        >>> print(as_options('Say what passes: passed=pl.col("grade") == \'\'.'))
        Say what passes: --passed "grade == ''".
        >>> as_options("Name it: judge=...")
        'Name it: --judge COLUMN.'
        >>> as_options("Name it: attempt=... Available: 'try'.")
        "Name it: --map attempt=COLUMN. Available: 'try'."
        >>> as_options("Give config=None, or leave clusters out: cluster=None.")
        'Give --map config=, or leave clusters out: --no-cluster.'
        >>> as_options("unscored['time out'] == ''. Available: 'fail'.")
        "--unscored 'time out='. Available: 'fail'."
        >>> as_options("Name splits with held_out= (on the command line --held-out).")
        'Name splits with --held-out.'
        >>> as_options("Keep one with tr.counts(..., by='repo').")
        'Keep one with --by repo.'
        >>> as_options("Name one with format= of tr.read.")
        'Name one with --from.'
        >>> as_options("Choose metric='acc,none' of tr.read.")
        'Choose --scorer acc,none.'
        >>> as_options('Read the rest with errors="collect" of tr.read.')
        'Read the rest with --errors collect of trialframe convert.'
    """
    message = _MEANT.sub(r"\1;", _BOTH.sub(r"\1", message))
    message = _POLICY.sub(_as_policy, _CALL.sub(r"\1", message))
    return _ARGUMENT.sub(_as_option, message)


def _as_policy(match: re.Match[str]) -> str:
    word = match[2] if match[2][0] not in "'\"" else _plain(match[2])
    return f"--unscored {_quoted(f'{_plain(match[1])}={word}')}"


def _as_option(match: re.Match[str]) -> str:
    name, several, column, word, texts, value, gap, end, of_read = match.groups()
    if several:
        words = [part.strip(" '\"") for part in several.strip("[]").split(",")]
        return " ".join(_option(name, one) for one in words)
    if column:
        return _option(name, _condition(_plain(column), _plain(word)))
    if texts:
        said = " or ".join(_option(name, _plain(one)) for one in re.findall(_TEXT, texts))
    elif value == "None":
        return "--no-cluster" if name == "cluster" else f"--map {name}="
    elif gap:
        return _option(name, "COLUMN") + ("" if end is None else f".{end}")
    else:
        said = _option(name, value or "")
    return f"{said} of trialframe convert" if of_read and name == "errors" else said


def _option(name: str, value: str) -> str:
    """The option of an argument: of its own, or --map for columns that have none."""
    if name in KNOWN and name not in {*NAMED, *_OTHERS}:
        return f"--map {_quoted(f'{name}={value}')}"
    flag = f"--{RENAMED.get(name, name).replace('_', '-')}"
    return flag if not value else f"{flag} {_quoted(value)}"


def _condition(column: str, word: str) -> str:
    """A condition that holds where a column is a text, with quotes where it needs them."""
    plain = f"{column} == {word}"
    made = condition(plain)
    if made is not None and (made.column, made.value) == (column, word):
        return plain
    mark = '"' if "'" in word else "'"
    return f"{column} == {mark}{word}{mark}"


def _plain(text: str) -> str:
    """What a text in quotes holds."""
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text[1:-1]


def _quoted(text: str) -> str:
    """A word for a shell: in double quotes where it holds single ones."""
    if "'" in text and not set('"$`\\!') & set(text):
        return f'"{text}"'
    return shlex.quote(text)
