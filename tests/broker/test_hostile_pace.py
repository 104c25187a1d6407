"""A supervisor that somebody took over, over every transport: it answers at once, not at all, or stops nobody.

It is the real one with a line replaced, or stopped by a signal. The host waits for it with pauses, ends the cell by its
own clock, and ends the sandbox of a supervisor that did not.
"""

from __future__ import annotations

import io
import signal
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rlm_secure.broker.protocol import Call
from rlm_secure.broker.transports import Transport
from rlm_secure.environments.bundle import Bundle, bundle
from rlm_secure.environments.remote import RemoteSession, worker
from rlm_secure.errors import CellTimeout, ProtocolViolation, SessionEnded
from tests.broker import support
from tests.broker.support import DialledLease, ListeningLease, ProcessLease, policy, session

KINDS = {"unix": ProcessLease, "https": ListeningLease, "exec": DialledLease}
TRANSPORTS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
AT_ONCE = (
    "if exchange.event is not None or self._enqueued",
    "if True or exchange.event is not None or self._enqueued",
)
REFUSES = ("refused = sum(self._server.refused.values())", "refused = int(time.monotonic() * 1e6)")
#: A cell that does not end by itself. It takes no processor: what is tried here is the clock of the host.
ENDLESS = "import time\nwhile True: time.sleep(1)"
STOPS_NOBODY = ('self._exchange.interrupt("interrupt", grace)', "pass")


def taken_over(*changes: tuple[str, str]) -> Bundle:
    """The guest's bundle with lines of its supervisor replaced, and without what was compiled of that file."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle().data)) as given, zipfile.ZipFile(made, "w") as archive:
        for name in given.namelist():
            text = given.read(name)
            if name == "guest/supervisor/supervisor.py":
                for old, new in changes:
                    assert text.count(old.encode()) == 1
                    text = text.replace(old.encode(), new.encode())
            if name != "guest/supervisor/supervisor.pyc":
                archive.writestr(name, text)
    return Bundle(made.getvalue(), bundle().sha256)


@contextmanager
def counted(opened: RemoteSession) -> Iterator[list[str]]:
    """What is asked for over the session's transport, in the block."""
    transport: Transport = opened._client.transport
    asked: list[str] = []
    request = transport.request

    def noted(method: str, target: str, *rest: Any, **options: Any) -> Any:
        asked.append(target.partition("?")[0])
        return request(method, target, *rest, **options)

    transport.request = noted  # type: ignore[method-assign]
    yield asked


def nothing(call: Call) -> str:
    return ""


@TRANSPORTS
def test_a_supervisor_that_answers_at_once_is_asked_with_pauses(kind, monkeypatch) -> None:
    monkeypatch.setattr(support, "bundle", lambda: taken_over(AT_ONCE, REFUSES))
    with session(policy(cell_seconds=2.0), kind=kind) as opened:
        told = len(opened.lease.refusals)
        with counted(opened) as asked:
            result = opened.execute(ENDLESS, nothing)
        assert isinstance(result.error, CellTimeout)
        assert result.error.limit == "limits.cell_seconds"
        assert asked.count("/pending") <= 20
        assert len(opened.lease.refusals) - told <= 16
        assert opened.execute("print(1)", nothing).stdout == "1\n"


def test_a_supervisor_that_goes_on_answering_at_once_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(support, "bundle", lambda: taken_over(AT_ONCE))
    with session(policy(cell_seconds=60.0)) as opened:
        monkeypatch.setattr(worker, "_LONGEST_PAUSE", 0.01)
        with counted(opened) as asked, pytest.raises(ProtocolViolation, match="at once and with nothing 33 times"):
            opened.execute(ENDLESS, nothing)
        assert asked.count("/pending") == 32
        with pytest.raises(SessionEnded):
            opened.execute("1", nothing)
        assert opened.lease.process.poll() is not None


@TRANSPORTS
def test_a_supervisor_that_stops_nobody_is_ended_with_its_sandbox(kind, monkeypatch) -> None:
    monkeypatch.setattr(support, "bundle", lambda: taken_over(STOPS_NOBODY))
    monkeypatch.setattr(worker, "KILL_SECONDS", 0.5)
    with session(policy(cell_seconds=0.5), kind=kind) as opened:
        result = opened.execute(ENDLESS, nothing)
        assert isinstance(result.error, CellTimeout)
        assert result.error.session_ended
        assert "its supervisor did not" in result.stderr
        assert opened.lease.process.poll() is not None
        assert not opened.alive


@TRANSPORTS
def test_a_supervisor_that_says_nothing_any_more_stretches_no_cell(kind) -> None:
    with session(policy(cell_seconds=1.0), kind=kind) as opened:
        frozen = threading.Timer(0.4, lambda: opened.lease.process.send_signal(signal.SIGSTOP))
        frozen.start()
        began = time.monotonic()
        result = opened.execute(ENDLESS, nothing)
        took = time.monotonic() - began
        frozen.join()
        assert isinstance(result.error, CellTimeout)
        assert result.error.session_ended
        assert not opened.alive
        assert opened.lease.process.poll() is not None
        # limits.cell_seconds, limits.grace_seconds and KILL_SECONDS are 6.5 s; the rest is a busy machine's.
        assert took < 15
