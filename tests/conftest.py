"""Rules for the whole suite: in CI nothing may be skipped; side by side, a file's tests stay together."""

from __future__ import annotations

import fcntl
import gc
import json
import os
from collections.abc import Generator
from dataclasses import asdict
from typing import Any

import pytest

from rlm_secure.testing import battery, corpus
from rlm_secure.testing.control import Control

_BY_PROVIDER = "tests/clouds/test_attacks.py"
IN_CI = os.environ.get("RLM_SECURE_CI") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `pytest -n`, which gives each worker whole files: those with slow tests start first."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker gets a file at a time, of the corpus in the clouds one provider at a time."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, name = nodeid.partition("::")
            return f"{file} {name.partition('[')[2].rstrip(']').partition('-')[0]}" if file == _BY_PROVIDER else file

    return Files(config, log)


@pytest.fixture(scope="session")
def controls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Control]:
    """Every attack in plain Python, by name: run once, by whichever worker asks first."""
    directory = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        directory = directory.parent  # the run's, not the worker's
    with (directory / "controls.json").open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if kept := file.read():
            rows = [Control(**{**row, "needs": corpus.Needs(row["needs"])}) for row in json.loads(kept)]
            return {row.name: row for row in rows}
        attacks = corpus.load()
        found = battery.controls(attacks)
        # On a machine that is busy with other tests one may run out of time: it is tried again.
        again = [attack for attack in attacks if not found[attack.name].won and not found[attack.name].excused]
        found |= battery.controls(again)
        json.dump([asdict(control) for control in found.values()], file)
        return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: a part that could not be tried is not a part that works."""
    if call.excinfo is not None:
        gc.collect()  # Python 3.11's parser breaks where a finalizer runs inside it, and a report parses
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI allows no skips: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself while it is collected."""
    report = yield
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skipped itself, and CI allows no skips: {report.longrepr}"
    return report
