"""Processes that have a changed module: forked, bounded in processor time and memory, and gone when they are asked for."""

from __future__ import annotations

import ctypes
import gc
import importlib.machinery
import importlib.util
import math
import mmap
import os
import resource
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.record import ROOT

#: Tests that take long, or run in processes of their own.
_LEFT_OUT = "not is_linear and not long_to_refuse and not threads and not breaks_no_thread and not breaks_one"
_OPTIONS = (
    "-q", "-k", _LEFT_OUT, "--capture=no", "--assert=plain", "--tb=native", "--hypothesis-seed=0",
    "-o", "addopts=--import-mode=importlib",
    *(word for name in ("anyio", "cacheprovider", "schemathesis", "timeout") for word in ("-p", f"no:{name}")),
)  # fmt: skip
#: Of one process: a change may make a loop endless that fills a list.
_MEMORY = 6 << 30
_TICKS = os.sysconf("SC_CLK_TCK")
_DIES_WITH_ITS_PARENT = 1
_libc = ctypes.CDLL(None)

ENDED_WELL, FAILED, NOT_IN_PLACE, UNDECIDED = 0, 1, 3, 4


def fork(work: Callable[[], int], *, said: int | None = None) -> int:
    """Start a process that ends with what `work` returns; what it prints goes to the descriptor `said`, or nowhere."""
    pid = os.fork()
    if pid:
        return pid
    status = FAILED
    try:
        _libc.prctl(_DIES_WITH_ITS_PARENT, signal.SIGKILL)
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        for number in (1, 2):
            os.dup2(nowhere if said is None else said, number)
        status = work()
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        sys.stderr.flush()
    finally:
        os._exit(status)


def ended(pid: int, *, seconds: float = math.inf, still: float = math.inf, patience: float = math.inf) -> int:
    """How the process ended, as waitstatus_to_exitcode() has it; UNDECIDED where it lasts longer than `patience`.

    It is killed, and FAILED to end by itself, once it has used so many `seconds` of processor time, or when for `still`
    seconds neither it nor what it started ran or would have: it waits for what does not come. A busy machine makes
    neither of a process that would end.
    """
    handle = os.pidfd_open(pid)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    found, last, begun = None, 0.0, time.monotonic()
    since = begun
    while found is None and not waiting.poll(1000):
        own, whole, runs = _processor_time(pid)
        now = time.monotonic()
        if whole != last or runs:
            last, since = whole, now
        if own > seconds or now - since > still:
            found = FAILED
        elif now - begun > patience:
            found = UNDECIDED
    os.close(handle)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) if found is None else found


def _processor_time(pid: int) -> tuple[float, float, bool]:
    """Seconds of the process, and of it and all that it started; and whether one of these runs, or would."""
    every: dict[int, tuple[int, int, bool]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                told = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                every[int(entry.name)] = (int(told[1]), int(told[11]) + int(told[12]), told[0] in (b"R", b"D"))
    family, size = {pid}, 0
    while len(family) > size:
        size = len(family)
        family |= {each for each, (parent, _, _) in every.items() if parent in family}
    found = [every[each] for each in family if each in every]
    own = every.get(pid, (0, 0, False))[1]
    return own / _TICKS, sum(used for _, used, _ in found) / _TICKS, any(runs for _, _, runs in found)


def dotted(name: str) -> str:
    """The module of the file `name`."""
    return name.removesuffix(".py").replace("/", ".")


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: types.CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> types.CodeType:
        return self._code


class _Finder:
    def __init__(self, name: str, code: types.CodeType) -> None:
        self._name, self._code = name, code

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != dotted(self._name):
            return None
        file = str(ROOT / self._name)
        return importlib.util.spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self._code))


class _Plugin:
    def __init__(self, work: Callable[[list[pytest.Item]], int]) -> None:
        self._work, self.status = work, FAILED

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self.status = self._work(session.items)
        return True


def collect(name: str, code: types.CodeType, tests: Sequence[str], work: Callable[[list[pytest.Item]], int]) -> int:
    """Collect `tests` with `code` as the module of the file `name`, and return what `work` makes of them; FAILED where
    they cannot be collected. Once in a process, which has not imported that module."""
    assert dotted(name) not in sys.modules
    sys.meta_path.insert(0, _Finder(name, code))  # type: ignore[arg-type]
    plugin = _Plugin(work)
    pytest.main([*_OPTIONS, *tests], plugins=[plugin])
    return plugin.status


@dataclass(frozen=True)
class Code:
    """The functions of a module, which may be given the code of a changed one: they stay who they are."""

    functions: dict[types.CodeType, list[types.FunctionType]]

    @classmethod
    def of(cls, name: str) -> Code:
        """Those of the file `name` that there are."""
        gc.unfreeze()  # tests/conftest.py froze them, and what is frozen is not listed
        functions: dict[types.CodeType, list[types.FunctionType]] = {}
        for each in gc.get_objects():
            if type(each) is types.FunctionType and each.__code__.co_filename == str(ROOT / name):
                functions.setdefault(each.__code__, []).append(each)
        gc.freeze()
        return cls(functions)

    def replace(self, code: types.CodeType) -> bool:
        """Give each function its code in the module's new `code`; returns whether each could have it."""
        new: dict[tuple[str, int], list[types.CodeType]] = {}
        for each in _inner(code):
            new.setdefault((each.co_qualname, each.co_firstlineno), []).append(each)
        for old, functions in self.functions.items():
            found = new.get((old.co_qualname, old.co_firstlineno), ())
            if len(found) != 1 or found[0].co_freevars != old.co_freevars:
                return False
            for function in functions:
                function.__code__ = found[0]
        return True


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _inner(each)


class Runner:
    """Runs tests in processes that are forked from this one."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._at = mmap.mmap(-1, 8)

    def first_failure(self, items: Sequence[pytest.Item], put: Callable[[], bool]) -> tuple[int, int]:
        """How a process ends that calls `put` and runs the tests until one fails, and the index of its last test."""
        self._at[:] = (0).to_bytes(8, "big")

        def work() -> int:
            if not put():
                return NOT_IN_PLACE
            for index, item in enumerate(items):
                self._at[:] = index.to_bytes(8, "big")
                following = items[index + 1] if index + 1 < len(items) else None
                if failed(item, following):
                    return FAILED
            return ENDED_WELL

        # By far more than they took, in processor time.
        pid = fork(work)
        usual = sum(self._seconds.get(item.nodeid, 1.0) for item in items)
        status = ended(pid, seconds=4 + 5 * usual, still=6 + 6 * usual, patience=900)
        return status, int.from_bytes(self._at[:], "big")

    def noticed(self, items: Sequence[pytest.Item], put: Callable[[], bool]) -> tuple[int, str]:
        """FAILED and the name of a test that fails with what `put` changes, also alone; ENDED_WELL if there is none.
        UNDECIDED, and NOT_IN_PLACE, where nothing can be said."""
        left = list(items)
        while left:
            status, at = self.first_failure(left, put)
            if status in (ENDED_WELL, NOT_IN_PLACE, UNDECIDED):
                return status, ""
            if at == 0 or self.first_failure([left[at]], put)[0] not in (ENDED_WELL, UNDECIDED):
                return FAILED, left[at].nodeid
            left = left[at + 1 :]
        return ENDED_WELL, ""


def failed(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test; whether it, or what is made for it, failed."""
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
