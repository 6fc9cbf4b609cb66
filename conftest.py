"""Tests and examples that need an extra skip where it is not installed, and fail where it must be.

At the root, so that it also holds for the examples of the package and of README.
"""

from __future__ import annotations

import doctest
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

# Set where every extra is installed: there a missing one is a failure, not a reason to skip.
EXTRAS_REQUIRED = os.environ.get("TRIALFRAME_REQUIRE_EXTRAS") == "1"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip for a missing module into a failure where every extra is installed."""
    if EXTRAS_REQUIRED and report.skipped and "could not import" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"extras are required here, but: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """See to modules that skip themselves with `pytest.importorskip`."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """See to tests that skip themselves with `pytest.importorskip`."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip an example in the docs that meets an extra which is not installed."""
    try:
        yield
    except Exception as error:
        failures = getattr(error, "failures", [error])
        missing = isinstance(item, pytest.DoctestItem) and _missing_module(failures[0])
        if EXTRAS_REQUIRED or not missing:
            raise
        pytest.skip(f"could not import what the example needs: {missing}")


def _missing_module(failure: object) -> str:
    if isinstance(failure, doctest.UnexpectedException):
        error = failure.exc_info[1]
        return str(error) if isinstance(error, ImportError) else ""
    return ""
