"""Rules for the whole suite: in CI nothing may be skipped, and what every attack does without walls is tried once."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import json
import os
import shlex
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from time import monotonic, sleep  # by name: some tests put others in their places

import pytest
import pytest_timeout

from rlm_secure.testing import arena, battery, corpus
from rlm_secure.testing.control import Control
from tests import share, signals

signals.reset()
gc.disable()  # until all tests are collected, which leaves no garbage

HERE = Path(__file__).parent
IN_CI = os.environ.get("RLM_SECURE_CI") == "1"
#: What runs attacks in the process of pytest itself.
IN_ARENA = (
    "attacks",
    "bypasses",
    "clouds/test_attacks.py",
    "clouds/test_live.py",
    "clouds/test_pods_attacked.py",
    "crawler",
    "docker/test_corpus.py",
    "docker/test_escapes.py",
    "local/test_seccomp_profile.py",  # every system call, in a process of its own that a filter is to kill
)


@pytest.hookimpl(tryfirst=True)  # before marks are selected by
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What runs attacks itself carries their mark, and what another push has the turn of is exhaustive.

    Outside CI, where it is a failure, what needs root or a Docker engine is left out where there is none. What a tracer
    would disturb is left out where one measures.
    """
    shared: dict[tuple[Path, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if _needs_an_arena(item):
            item.add_marker(pytest.mark.attack)
        count = share.pushes(item.nodeid)
        if count > 1 and not item.get_closest_marker("exhaustive"):
            shared[item.path, count].append(item)
    for (path, count), each in shared.items():
        chosen = set(share.share(each, count, path.relative_to(HERE.parent).as_posix()))
        for item in each:
            if item not in chosen:
                item.add_marker(pytest.mark.exhaustive)
    without: tuple[tuple[str, Callable[[], bool]], ...] = () if IN_CI else (("root", _is_root), ("docker", _engine_answers))
    for name, there in (*without, ("untraced", lambda: not os.environ.get("RLM_SECURE_COVERAGE"))):
        out = {item for item in items if item.get_closest_marker(name)}
        if out and not there():
            config.hook.pytest_deselected(items=list(out))
            items[:] = [item for item in items if item not in out]


def _is_root() -> bool:
    return os.geteuid() == 0


def _engine_answers() -> bool:
    """Whether a Docker engine answers where its clients look for it."""
    try:
        import docker

        with contextlib.closing(docker.from_env(version="auto", timeout=10)):
            return True
    except Exception:
        return False


@functools.cache  # thousands of tests of a part share a few files
def _runs_attacks(path: Path) -> bool:
    return any(path.is_relative_to(HERE / name) for name in IN_ARENA)


def _needs_an_arena(item: pytest.Item) -> bool:
    return _runs_attacks(item.path)


def _in_parts(config: pytest.Config, items: list[pytest.Item]) -> str:
    """The command that runs these in an arena, with the marks and, where some were named, the files that pytest was given."""
    command = ["python", "-m", "tests"]
    if config.option.markexpr:
        command += ["-m", config.option.markexpr]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        command += sorted({str(item.path.relative_to(HERE.parent)) for item in items})
    return shlex.join(command)


def _is_attack(item: pytest.Item) -> bool:
    return item.get_closest_marker("attack") is not None


@pytest.fixture(scope="session")
def controls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Control]:
    """Every attack in plain Python, by name: run once, by whichever part of the suite asks first."""
    kept_in = os.environ.get("RLM_SECURE_CONTROLS") or tmp_path_factory.getbasetemp() / "controls.json"
    with Path(kept_in).open("a+", encoding="utf-8") as file:
        with contextlib.suppress(PermissionError):  # the user of another arena made it, and did this
            os.chmod(kept_in, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept = [json.loads(line) for line in file]
        found = {row["name"]: Control(**{**row, "excuse": corpus.Excuse(row["excuse"])}) for row in kept}
        missing = [attack for attack in corpus.load() if attack.name not in found]
        for control in battery.patient_controls(missing).values() if missing else ():
            found[control.name] = control
            if control.won or control.excused:  # one that was lost is tried again by whoever asks next
                file.write(json.dumps(asdict(control)) + "\n")
        return found


@pytest.fixture
def hang() -> Iterator[Callable[[], str]]:
    """A tool that does not return until the test is over."""
    over = threading.Event()

    def hanging() -> str:
        over.wait(20.0)  # a test that fails must end, too
        return "late"

    yield hanging
    over.set()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was selected and runs attacks itself runs in an arena only.

    What is there before the first test stays until the last: no collection need look at it again.
    """
    ours = [item for item in session.items if _needs_an_arena(item)]
    if ours and arena.outside() and not session.config.option.collectonly:
        raise pytest.UsageError(f"attacks run in an arena only: {_in_parts(session.config, ours)}")
    gc.collect()
    gc.freeze()
    gc.enable()


class Watch(threading.Thread):
    """Ends this process where a test lasts longer than it may, as pytest-timeout does: one thread for all tests.

    A thread for each of thousands of tests, started and awaited, takes a fifth of what a small test takes.
    """

    def __init__(self) -> None:
        super().__init__(name="watch of the test that runs", daemon=True)
        #: What runs, and when it is late, by monotonic().
        self.test: tuple[pytest.Item, pytest_timeout.Settings, float] | None = None

    def run(self) -> None:
        while True:
            if (test := self.test) and monotonic() > test[2]:
                pytest_timeout.timeout_timer(*test[:2])
            sleep(1.0)


_watch = Watch()


def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
    """Instead of pytest-timeout's own, which starts a thread."""
    if not _watch.is_alive():
        _watch.start()
    _watch.test = item, settings, monotonic() + settings.timeout
    return True


def pytest_timeout_cancel_timer() -> bool:
    """The test has ended."""
    _watch.test = None
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: a part that could not be tried is not a part that works."""
    if call.excinfo is not None:
        gc.collect()  # Python 3.11's parser breaks where a finalizer runs inside it, and a report parses
    report = yield
    if report.failed and (path := os.environ.get("RLM_SECURE_FAILED")):
        told = {"part": os.environ.get("RLM_SECURE_PART", ""), "test": item.nodeid, "attack": _is_attack(item)}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        with contextlib.suppress(PermissionError):
            os.chmod(path, 0o666)
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
