"""A supervisor's zygote that dies, stands still or breaks its word, and a session that has no CPU seconds left."""

from __future__ import annotations

import os
import selectors
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.guest.supervisor import zygote_link
from rlm_secure.guest.supervisor.exchange import Exchange

#: Every zygote here begins so: with the control socket, and what it was configured with.
BEGIN = """
import array, json, os, signal, socket, sys
control = socket.socket(fileno=int(sys.argv[2]))
control.recv(4096)
"""
BOOTED = """
control.send(json.dumps({"op": "booted", "walls": {"a": ["full", ""]}, "details": {}}).encode())
control.recv(4096)
"""


@pytest.fixture
def zygote(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[zygote_link.ZygoteLink]:
    """A zygote that is the program that a test gives."""
    program = tmp_path / "program.py"
    program.write_text(BEGIN + textwrap.dedent(request.param))
    made = zygote_link.ZygoteLink(str(program))
    made.configure({})
    yield made
    made._control.close()
    os.close(made._errors)
    os.waitpid(made.pid, 0)


@pytest.mark.parametrize(
    ("zygote", "said"),
    [
        (r"sys.stderr.write('one\n\x1b[31mlost\n'); sys.exit(3)", "the zygote is gone; its last line was: ?[31mlost"),
        ("os.close(2); sys.exit(3)", "the zygote is gone"),
        # Somebody holds its standard error, and writes nothing.
        ("if os.fork(): sys.exit(3)\ncontrol.close()\nsignal.alarm(2)\nsignal.pause()", "the zygote is gone"),
    ],
    indirect=["zygote"],
)
def test_a_zygote_that_does_not_boot_is_quoted(zygote: zygote_link.ZygoteLink, said: str) -> None:
    with pytest.raises(zygote_link.LinkError) as failed:
        zygote.boot()
    assert str(failed.value) == said


@pytest.mark.parametrize(
    ("zygote", "said"),
    [
        (BOOTED + "control.send(b'{}')", "the zygote gave no process"),
        (BOOTED + """control.send(b'{"error": "no room"}')""", "no room"),
        (
            BOOTED
            + "ours, theirs = socket.socketpair()\nours.close()\n"
            + """socket.send_fds(control, [b'{"pid": 7}'], [theirs.fileno()])""",
            "the worker died before it began: [Errno 32] Broken pipe",
        ),
        (BOOTED + "control.send(b'nothing of JSON')", "the zygote says what cannot be read"),
    ],
    indirect=["zygote"],
)
def test_a_worker_that_a_zygote_does_not_give_is_a_failure(zygote: zygote_link.ZygoteLink, said: str) -> None:
    zygote.boot()
    zygote.boot()  # it stands
    with pytest.raises(zygote_link.LinkError) as failed:
        zygote.fork({}, "worker")
    assert str(failed.value).startswith(said)


@pytest.mark.parametrize("zygote", ["sys.exit(0)"], indirect=True)
def test_a_session_without_cpu_seconds_left_gets_no_further_worker(zygote: zygote_link.ZygoteLink) -> None:
    exchange = Exchange(zygote, selectors.DefaultSelector(), lambda: None)
    exchange._cpu_spent = 3.0
    for limit in (3, [3, 4]):
        with pytest.raises(zygote_link.LinkError, match="the session has used up its CPU seconds"):
            exchange.spawn({"CPU": limit}, "worker", 1 << 20)


@pytest.mark.parametrize("zygote", [BOOTED + "signal.pause()"], indirect=True)
def test_a_zygote_that_does_not_end_its_worker_is_the_end_of_the_supervisor(
    zygote: zygote_link.ZygoteLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    zygote.boot()
    monkeypatch.setattr(zygote_link, "_ANSWER_SECONDS", 0.1)
    with pytest.raises(SystemExit, match="did not answer within 0.1 s, and nobody else can stop its worker"):
        zygote.signal(7, 9)
    os.kill(zygote.pid, 9)


@pytest.mark.parametrize("zygote", [BOOTED], indirect=True)
def test_a_zygote_that_is_gone_took_its_workers_along(zygote: zygote_link.ZygoteLink) -> None:
    zygote.boot()
    zygote.signal(7, 9)
