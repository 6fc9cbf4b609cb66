"""The command line: trialframe summary, counts, compare, leaderboard and more; see --help.

Exit codes: 0 fine; 1 a regression suite, a check or a gate says no; 2 bad input, with one line on
standard error; 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trialframe._optional import installed_version
from trialframe.cli import (
    _audit,
    _check,
    _compare,
    _convert,
    _correct,
    _curves,
    _estimate,
    _export,
    _gate,
    _irt,
    _judge,
    _leaderboard,
    _make,
    _power,
    _reliability,
    _report,
    _sequential,
)
from trialframe.cli._advice import as_options
from trialframe.cli._output import refuse_own_input, say
from trialframe.errors import TrialframeError

if TYPE_CHECKING:
    from collections.abc import Sequence

BAD_INPUT = 2
INTERRUPTED = 130
READER_GONE = 141

app = typer.Typer(
    name="trialframe",
    help="Analytics for repeated-trial evaluations of language models and agents.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    _estimate.summary,
    _estimate.counts,
    _compare.compare,
    _compare.regressions,
    _gate.gate,
    _leaderboard.compare_all,
    _leaderboard.leaderboard,
    _report.report,
    _irt.irt,
    _power.power,
    _sequential.sequential,
    _sequential.next_trials,
    _reliability.reliability,
    _reliability.gstudy,
    _curves.decay,
    _curves.seq,
    _make.sql,
    _export.ddl,
    _export.export,
    _convert.convert,
    _convert.formats,
    _audit.audit,
    _check.check,
    _check.doctor,
    _make.simulate,
):
    app.command()(command)
for command in (_correct.calibrate, _correct.correct, _correct.drift):
    _judge.judge.command()(command)
app.add_typer(_judge.judge)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> int:
    """Analytics for repeated-trial evaluations of language models and agents."""
    if version:
        sys.stdout.write(f"trialframe {installed_version('(not installed)')}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")
        raise typer.Exit(BAD_INPUT)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after the program's name; None for those of this process.

    Returns:
        The exit code.
    """
    log = logging.getLogger("trialframe")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_InOptions("note: %(message)s"))
    log.addHandler(handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show a letter
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
        return READER_GONE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        say(message, "error")
        return BAD_INPUT
    finally:
        log.removeHandler(handler)
    return code


class _InOptions(logging.Formatter):
    """Notes of functions, with their arguments said in options."""

    def format(self, record: logging.LogRecord) -> str:
        """The note as one line."""
        return as_options(super().format(record))


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = typer.main.get_command(app)
    refuse_own_input(words)
    try:
        # not command.main: that ends with 1 when the reader of the output is gone
        with command.make_context("trialframe", words) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as end:
        return int(end.exit_code)


def _message(error: Exception) -> str | None:
    """What to tell about bad input; None for an error that is a mistake in this package."""
    from polars.exceptions import PolarsError

    told = getattr(error, "format_message", None)  # usage errors of the parser
    if told is not None:
        return f"{told().rstrip('.')}. See --help."
    if type(error).__module__.partition(".")[0] == "narwhals":  # which wraps those of Polars
        return f"counting failed: {str(error).strip().partition(chr(10))[0]}"
    if isinstance(error, TrialframeError | ImportError | PolarsError | UnicodeError):
        return str(error)
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename and error.strerror else ""
        return f"{error.strerror or error}{where}"
    return None


def _let_go_of_stdout() -> None:
    """Send what is still buffered nowhere, so that the exit is quiet."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
