"""The rest of what a judge does: hosts that are made anew, sessions beside and after, walls by their errno, its clock."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import CellException, CellTimeout, EnvironmentUnavailable, WallViolation
from rlm_secure.guarantees import EnforcementReport, Guarantee, Level, Wall, WallStatus
from rlm_secure.testing import arena, watch, yardstick
from rlm_secure.testing import target as targets
from rlm_secure.testing.corpus import Excuse, Layer, Need, Win
from rlm_secure.testing.session import FOREIGN, Habits, HostDied, SessionFailed
from rlm_secure.testing.target import Bounds, Target
from rlm_secure.testing.verdict import Result, not_checked
from rlm_secure.testing.yardstick import Yardstick
from tests.attacks.conftest import ATTACKS
from tests.attacks.puppets import Puppet, Weighed, says
from tests.local.kernels import in_child

# -- judge.py -----------------------------------------------------------------------------------------


class Anew:
    """What opens puppets in a host that is made anew."""

    def __init__(self, open_session: Callable[[], Any]) -> None:
        self._open_session = open_session
        self.habits = Habits(beside=0)
        self.told: list[str] = []
        self.last: Callable[[], Any] = lambda: None

    def __call__(self) -> Any:
        return self._open_session()

    def begin(self) -> None:
        self.told.append("begin")

    def end(self) -> None:
        self.told.append("end")
        self.last()


def test_what_a_host_does_at_its_end_is_the_attacks_doing(tried, target):
    made: list[Anew] = []

    def anew(open_session):
        made.append(Anew(open_session))
        made[0].last = lambda: Path(target.directory, "inbox", "late").touch()
        return made[0]

    verdict = tried(says(""), environment=FOREIGN, restarts=anew)
    assert verdict.evidence == f"{target.directory}/inbox/late was changed"
    assert made[0].told == ["begin", "end"]


def test_a_session_that_goes_on_computing_outlasts(tried, monkeypatch):
    monkeypatch.setattr(watch, "_LOOKS", 2)
    monkeypatch.setattr(watch, "_LOOK_AFTER_SECONDS", 0.05)
    busy = type("Busy", (Weighed,), {"busy": 1.0})
    verdict = tried(says(""), kind=busy, wins=Win.OUTLASTS)
    assert verdict.evidence == "it goes on computing after the session said that it had ended"
    assert tried(says(""), kind=Weighed, wins=Win.OUTLASTS).held
    assert tried(says(""), kind=Puppet, wins=Win.OUTLASTS).held


@pytest.mark.parametrize(("error", "times"), [(SessionFailed("no"), 2), (HostDied("it died"), 1), (EnvironmentUnavailable("no"), 1)])
def test_sessions_that_no_longer_start_are_the_attacks_doing(tried, error, times):
    tries: list[None] = []

    def kind(acts, environment):
        if tried.opened:
            tries.append(None)
            raise error
        return Puppet(acts, environment)

    verdict = tried(says(""), kind=kind)
    assert verdict.evidence == f"no fresh session starts any more: {error}"
    assert len(tries) == times


def test_an_adapter_may_fail_once_by_itself(tried):
    failures = [SessionFailed("not now")]

    def kind(acts, environment):
        if tried.opened and failures:
            raise failures.pop()
        return Puppet(acts, environment)

    assert tried(says(""), kind=kind).held


@pytest.mark.parametrize(("needs", "begins"), [(frozenset(), "import errno\nimport os\n"), (frozenset({Need.CTYPES}), '"""')])
def test_attacks_on_the_kernel_begin_with_plain_python(tried, needs, begins):
    told: list[str] = []

    class Told(Puppet):
        def run(self, code, timeout=None):
            told.append(code)
            return super().run(code, timeout)

    assert tried(says(""), kind=Told, layer=Layer.KERNEL, needs=needs).held
    assert told[0].partition("\n")[2].startswith(begins)


def walled(*walls: Wall) -> Callable[..., Puppet]:
    def kind(acts, environment):
        puppet = Puppet(acts, environment)
        puppet.report = EnforcementReport(environment, tuple(WallStatus(wall, Level.FULL, "") for wall in walls))
        return puppet

    return kind


EPERM = CellException("PermissionError: [Errno 1] Operation not permitted")


@pytest.mark.parametrize(
    ("error", "walls", "excuse", "stopped_by"),
    [
        (EPERM, (Wall.SECCOMP, Wall.LANDLOCK), Excuse.NOTHING, Wall.SECCOMP),
        (EPERM, (Wall.LANDLOCK, Wall.NO_CAPABILITIES), Excuse.NOTHING, Wall.LANDLOCK),
        (EPERM, (Wall.LANDLOCK, Wall.NO_CAPABILITIES), Excuse.ROOT, Wall.NO_CAPABILITIES),
        (EPERM, (), Excuse.NOTHING, None),
        (CellException("OSError: [Errno 999] none"), (Wall.LANDLOCK,), Excuse.NOTHING, None),
        (CellException("NameError: x"), (Wall.LANGUAGE,), Excuse.NOTHING, Wall.LANGUAGE),
        (WallViolation("killed", wall="seccomp"), (), Excuse.NOTHING, Wall.SECCOMP),
        (CellTimeout("late", limit="x"), (), Excuse.NOTHING, None),
        (CellException(""), (), Excuse.NOTHING, None),
    ],
)
def test_the_wall_that_stopped_an_attack_is_told_from_its_end(tried, error, walls, excuse, stopped_by):
    verdict = tried(says(error=error), kind=walled(*walls), excuse=excuse)
    assert verdict.held and verdict.wall is stopped_by
    assert verdict.evidence == (str(error) or "CellException")


def test_an_attack_that_was_not_run_was_not_checked():
    verdict = not_checked(ATTACKS[0], "there is no such call")
    assert (verdict.result, verdict.held, verdict.evidence) == (Result.NOT_CHECKED, False, "there is no such call")


def test_attempts_side_by_side_give_the_threads_back_together(tried):
    before = threading.excepthook
    with watch.watched_threads():
        noting = threading.excepthook
        with watch.watched_threads():
            assert threading.excepthook is noting is not before
        assert threading.excepthook is noting
    assert threading.excepthook is before


def test_a_cell_that_ends_its_session_is_the_last(tried):
    error = CellTimeout("late", limit="x")
    error.session_ended = True
    assert tried(says(error=error), says("WON x"), wins=Win.PRINTS).held
    assert len(tried.opened[0].ran) == 1


# -- target.py ----------------------------------------------------------------------------------------


def test_a_target_that_cannot_be_planted_leaves_nothing(tmp_path):
    def body() -> object:
        tempfile.tempdir = str(tmp_path)
        yardstick.shared()
        before = len(os.listdir("/proc/self/fd"))
        try:
            Target()
        except OSError as error:
            return error.errno, len(os.listdir("/proc/self/fd")) - before, os.listdir(tmp_path)
        return None

    assert in_child(body, ("listen", 13)) == "(13, 0, [])"


def test_more_than_anybody_wants_to_look_at_is_not_looked_at(monkeypatch):
    with Target() as target:
        known = target.facts("", Bounds())
        monkeypatch.setattr(targets, "_MOST_HEARD", 1)
        monkeypatch.setattr(targets, "_MOST_ENTRIES", 0)
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", known["port"])):
                pass
        assert (target.heard(), target.heard(), target.heard()) == (["port"], ["port"], [])
        place = Path("/dev/shm/rlm-secure-deep")
        (place / "deeper").mkdir(parents=True)
        (place / "deeper" / f"{target.tag}-left").touch()
        try:
            assert list(target._shared_files()) == []
        finally:
            (place / "deeper" / f"{target.tag}-left").unlink()
            (place / "deeper").rmdir()
            place.rmdir()


def test_what_is_gone_meanwhile_is_not_read_only():
    assert targets._read_only(Path("/usr")) and not targets._read_only(Path("/no/such/place"))


def test_without_an_arena_what_this_process_did_not_start_is_nobodys_leftover(monkeypatch):
    with Target() as target:
        monkeypatch.setattr(arena, "inside", lambda: None)
        child = os.fork()
        if child == 0:
            signal.pause()
        try:
            assert child in target._own_processes() and os.getppid() not in target._own_processes()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


# -- yardstick.py -------------------------------------------------------------------------------------


def test_a_yardstick_that_is_gone_lets_the_clock_count():
    one = Yardstick()
    one.close()
    assert one._paced() is None
    first, began = one.given(), time.monotonic()
    time.sleep(0.02)
    passed, given = time.monotonic() - began, one.given() - first
    assert given == pytest.approx(passed, abs=0.5) and given > 0
    assert yardstick.shared() is not one


def test_the_guarantees_that_sessions_share_are_tried_beside(tried):
    assert tried(says(""), guarantee=Guarantee.SESSION_ISOLATION).held
    assert len(tried.opened) == 1 + Habits().beside + 1
