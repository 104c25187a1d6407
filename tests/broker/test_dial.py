"""The dialled stream: a real `dial` process between host and supervisor, over pipes that lose, double and babble."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import socket
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.broker.client import Lost
from rlm_secure.broker.protocol import Call
from rlm_secure.broker.transports import TransportLost, tube
from rlm_secure.broker.transports.lines import MAX_LINE, fields
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.broker.transports.tube import PIECE, WINDOW
from rlm_secure.environments.bundle import bundle
from rlm_secure.guest.supervisor import dial as guest_dial
from tests.broker.support import BUNDLE, DialledLease, ProcessPipe, policy, session
from tests.growth.cost import assert_linear


class LossyPipe(ProcessPipe):
    """Loses, doubles, delays and adds lines in both directions, as `dice` falls."""

    def __init__(self, command: list[str], dice: random.Random) -> None:
        super().__init__(command)
        self.dice = dice
        self.calm = False
        self._inbound = b""
        self._held: list[bytes] = []

    def _spoil(self, line: bytes) -> bytes:
        if self.calm or b"hello" in line:
            return line
        fall = self.dice.random()
        if fall < 0.05:
            return b""
        if fall < 0.10:
            return line + line
        if fall < 0.13:
            return b"bash: warning: setlocale\r\n\x1b[0m" + line
        if fall < 0.16:
            return b'{"n": "x"}\n{"a": -1}\n' + line
        if fall < 0.18:
            return line[: len(line) // 2] + b"\n"
        return line

    def write(self, data: bytes, deadline: float) -> None:
        super().write(self._spoil(data), deadline)

    def read(self, deadline: float) -> bytes:
        data = super().read(deadline)
        self._inbound += data
        lines = self._inbound.split(b"\n")
        self._inbound = lines.pop()
        return b"".join(self._spoil(line + b"\n") for line in lines) or (b"\n" if data else b"")


class LossyLease(DialledLease):
    def make(self, command: list[str]) -> Any:
        return LossyPipe(command, random.Random(11))


@pytest.fixture(scope="module")
def dialled() -> Iterator[Any]:
    with session(kind=DialledLease) as opened:
        yield opened


def count(call: Call) -> str:
    return f"<{call.prompts[0]}>"


def test_a_session_runs_over_a_dialled_stream(dialled) -> None:
    code = "print(llm_query('a'), llm_query_batched(['b', 'c']))"
    assert dialled.execute(code, lambda call: count(call) if call.kind == "llm_query" else ["B", "C"]).stdout == (
        "<a> ['B', 'C']\n"
    )


def test_a_context_larger_than_every_window_passes(dialled) -> None:
    payload = "".join(map(str, range(2_000_000)))
    assert len(payload) > 4 * WINDOW
    dialled.load_context("context_0", payload)
    assert dialled.execute("print(len(context_0), context_0[-9:])", count).stdout == f"{len(payload)} {payload[-9:]}\n"


def test_a_large_result_passes(dialled) -> None:
    result = dialled.execute("answer = {'content': 'x' * 3_000_000, 'ready': True}", count)
    assert result.answer is not None
    assert len(result.answer.text) == 3_000_000


def test_an_interrupt_overtakes_a_request_that_waits(dialled) -> None:
    timer = threading.Timer(0.3, dialled.interrupt)
    started = 0.0

    def begun(call: Call) -> str:
        nonlocal started
        started = time.monotonic()
        timer.start()  # the cell runs by now: an interrupt of nothing has no effect
        return count(call)

    result = dialled.execute("llm_query('begun')\nwhile True: pass", begun)
    timer.join()
    assert result.error is not None
    assert result.error.limit == "interrupt"
    assert time.monotonic() - started < 10


def test_a_stream_that_breaks_is_dialled_again_and_calls_happen_once(dialled) -> None:
    asked: list[str] = []

    def answer(call: Call) -> str:
        asked.append(call.prompts[0])
        if len(asked) in (2, 5):
            dialled.lease.pipes[-1].process.kill()
        return "x"

    dials = len(dialled.lease.pipes)
    assert dialled.execute("for n in range(8): llm_query(str(n))\nprint('done')", answer).stdout == "done\n"
    assert asked == [str(number) for number in range(8)]
    assert len(dialled.lease.pipes) == dials + 2


def test_what_is_sent_over_a_bad_line_arrives_once_and_in_order() -> None:
    asked: list[str] = []

    def answer(call: Call) -> str:
        asked.append(call.prompts[0])
        return f"{len(asked)}" * 30

    # What is lost is waited for, 20 s in all: beside other tests that is longer than a cell may take by default.
    with session(policy(cell_seconds=60.0), LossyLease) as opened:
        opened.load_context("context_0", "abc" * 400_000)
        code = "for n in range(30): llm_query(str(n))\nprint(len(context_0), context_0[-4:])"
        assert opened.execute(code, answer).stdout == "1200000 cabc\n"
        for pipe in opened.lease.pipes:
            pipe.calm = True
    assert asked == [str(number) for number in range(30)]


def test_a_supervisor_that_is_gone_is_not_dialled_for_ever() -> None:
    with session(kind=DialledLease) as opened:
        opened.execute("1", count)
        opened.lease.process.kill()
        opened.lease.process.wait()
        started = time.monotonic()
        result = opened.execute("1", count)
        assert result.error is not None
        assert result.error.session_ended
        assert time.monotonic() - started < 5


def test_nothing_to_dial_is_a_typed_error_in_bounded_time() -> None:
    transport = StdioTransport(lambda _: ProcessPipe(["/bin/cat"]))
    with pytest.raises(TransportLost):
        transport.request("GET", "/health", {}, b"", limit=10, deadline=time.monotonic() + 2)
    transport.close()


@pytest.mark.parametrize(
    "script",
    [
        "yes",
        "yes '{\"n\": 1}'",
        "head -c 3000000 /dev/zero; sleep 5",
        'echo \'{"hello": 1}\'; yes \'{"n":1,"a":0,"c":1,"d":""}\'',
    ],
    ids=["noise", "objects", "zeros", "numbers"],
)
def test_a_stream_of_something_else_is_cut_off(script) -> None:
    transport = StdioTransport(lambda _: ProcessPipe(["/bin/sh", "-c", script]))
    started = time.monotonic()
    with pytest.raises(TransportLost):
        transport.request("GET", "/health", {}, b"", limit=10, deadline=time.monotonic() + 2)
    assert time.monotonic() - started < 10
    transport.close()


def channel_of(script: str) -> tuple[StdioTransport, Any]:
    """A transport, and a connection of it, to a program in Python that says hello first."""
    program = 'import json, sys, time\nprint(\'{"hello":1}\', flush=True)\n' + textwrap.dedent(script)
    transport = StdioTransport(lambda _: ProcessPipe([sys.executable, "-I", "-c", program]))
    channel = transport._take(time.monotonic() + 60)
    channel.settimeout(60)
    return transport, channel


def test_a_transport_that_was_closed_carries_nothing() -> None:
    transport, _ = channel_of("time.sleep(60)")
    transport.close()
    with pytest.raises(TransportLost, match="the transport is closed"):
        transport.request("GET", "/health", {}, b"", limit=10, deadline=time.monotonic() + 2)


def test_who_neither_reads_nor_answers_is_given_up_in_time() -> None:
    transport, channel = channel_of("for line in sys.stdin: pass")
    channel.settimeout(0.2)
    with pytest.raises(TimeoutError, match="nothing came"):
        channel.recv(10)
    with pytest.raises(TransportLost, match="the sandbox does not read"):
        for _ in range(100):
            channel.send(b"x" * PIECE)
    transport.close()


def test_a_connection_that_the_other_side_closed_takes_nothing_more() -> None:
    transport, channel = channel_of("""
        sys.stdin.readline()
        print('{"n":1,"a":1,"c":1,"end":true}', flush=True)
        time.sleep(60)
    """)
    channel.send(b"x")
    assert channel.recv(10) == b""
    with pytest.raises(BrokenPipeError, match="the connection was closed"):
        channel.send(b"x")
    transport.close()


def test_a_connection_that_is_closed_is_closed_in_there() -> None:
    transport, channel = channel_of("""
        while not json.loads(sys.stdin.readline()).get("end"):
            pass
        print('{"n":1,"a":2,"c":2,"d":"eA=="}', flush=True)
        time.sleep(60)
    """)
    other = channel._tube.channel()
    other.settimeout(60)
    channel.send(b"x")
    channel.close()
    assert other.recv(9) == b"x"
    transport.close()


def test_who_acknowledges_late_gets_all_of_it() -> None:
    transport, channel = channel_of(f"""
        for count, line in enumerate(sys.stdin, 1):
            if count >= {WINDOW // PIECE}:  # no more is on its way before
                time.sleep(0.2 if count == {WINDOW // PIECE} else 0)
                print(json.dumps({{"a": json.loads(line).get("n", 0)}}), flush=True)
    """)
    channel.settimeout(60)
    for _ in range(2 * WINDOW // PIECE):
        assert channel.send(b"x" * PIECE) == PIECE
    transport.close()


def test_a_pipe_that_takes_nothing_is_broken() -> None:
    class Unwritable(ProcessPipe):
        def write(self, data: bytes, deadline: float) -> None:
            raise TransportLost("nothing goes in")

    program = """import time; print('{"hello":1}', flush=True); time.sleep(60)"""
    transport = StdioTransport(lambda _: Unwritable([sys.executable, "-I", "-c", program]))
    channel = transport._take(time.monotonic() + 20)
    channel.settimeout(20)
    with pytest.raises(TransportLost, match="nothing goes in"):
        channel.send(b"x")
    assert channel._tube.broken == "nothing goes in"
    transport.close()


def test_what_is_missing_is_asked_for() -> None:
    transport, channel = channel_of("""
        sys.stdin.readline()  # what is said before there is a connection is of none
        print('{"n":3,"a":0,"c":1,"d":"Yg=="}', flush=True)
        print('{"n":2,"a":0,"c":1,"d":"Yg=="}', flush=True)
        while True:
            line = json.loads(sys.stdin.readline())
            if line.get("again"):
                print('{"n":1,"a":0,"c":1,"d":"YQ=="}', flush=True)
                print('{"n":2,"a":0,"c":1,"d":"Yg=="}', flush=True)
    """)
    channel.send(b"x")
    assert channel.recv(1) + channel.recv(1) == b"ab"
    transport.close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('sys.stdin.readline(); sys.stdout.write("x" * 9_000_000); sys.stdout.flush(); time.sleep(60)', "the stream carries something else"),
        ('sys.stdin.readline()\nfor n in range(1, 99): print(json.dumps({"n":n,"a":0,"c":1,"d":"A"*4000}), flush=True)\ntime.sleep(60)', "more than"),
    ],
)  # fmt: skip
def test_more_than_anybody_asked_for_breaks_the_stream(script: str, said: str, monkeypatch) -> None:
    monkeypatch.setattr(tube, "_MAX_INBOUND", 100_000)
    transport, channel = channel_of(script)
    channel.send(b"x")
    deadline = time.monotonic() + 20
    while not channel._tube.broken and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said in channel._tube.broken
    transport.close()


def test_data_that_is_nearly_base64_is_refused() -> None:
    for data in ("A", "A===", "\n", 1, None):
        with pytest.raises(ValueError, match="data is not base64"):
            fields({"d": data})
    with pytest.raises(ValueError, match="data is not base64"):
        fields({"end": 1})
    for number in ("1", -1, 2**53, 1.0, True, None):
        with pytest.raises(ValueError, match="a number is not one"):
            fields({"n": number})


@given(
    st.dictionaries(
        st.sampled_from(["n", "a", "c", "d", "end", "again", "hello"]),
        st.none() | st.integers() | st.text() | st.booleans(),
    )
)
def test_a_line_is_checked_or_refused(line) -> None:
    with contextlib.suppress(ValueError):
        said = fields(line)
        assert said.number is None or said.number >= 0
        assert isinstance(said.data, bytes)


@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from([b'{"n":1,"c":1,"d":"aGk="}', b'{"a":"x"}', b'{"bye":0}', b"[]", b"{"]),
        max_size=20,
    )
)
def test_any_lines_leave_the_guest_dialling(lines: list[bytes]) -> None:
    reader, writer = os.pipe()
    out, into = os.pipe()
    try:
        made = guest_dial.Dial("/nonexistent", reader, into)
        os.write(writer, b"\n".join(lines) + b"\n")
        made._read_lines()
        assert len(made._inbound) <= MAX_LINE
    finally:
        for fd in (reader, writer, out, into):
            os.close(fd)


def dialled_lines(lines: bytes, piece: int) -> guest_dial.Dial:
    """A guest's dial that has read `lines`, so many bytes at a time. Nobody reads what it says."""
    reader, writer = os.pipe()
    out, into = os.pipe()
    try:
        made = guest_dial.Dial("/nonexistent", reader, into)
        for at in range(0, len(lines), piece):
            os.write(writer, lines[at : at + piece])
            made._read_lines()
        return made
    finally:
        for fd in (reader, writer, out, into):
            os.close(fd)


@pytest.mark.parametrize(
    ("line", "piece", "size"),
    [(b"x", 10, 40_000), (b"\n", 4096, 100_000), (b"{}\n", 4096, 20_000), (b" ", 4096, 4_000_000)],
    ids=["one line", "empty lines", "lines", "noise"],
)
def test_what_a_guest_reads_costs_in_proportion_to_its_size(line: bytes, piece: int, size: int) -> None:
    assert_linear(lambda n: line * (n // len(line)), lambda data: dialled_lines(data, piece), begin=size, fixed=True)


def test_a_guest_sends_again_what_was_asked_for_once_a_while() -> None:
    ledger = guest_dial.Sequencer()
    for number in range(40):
        ledger.line({"c": 1, "d": "x" * 1000}, 1000)
        assert len(ledger.again(100.0)) == (0 if number else 1)
    assert len(ledger.again(100.0 + guest_dial._PACE_SECONDS)) == 40
    made = dialled_lines(b'{"a":0,"again":true,"n":1,"c":0,"end":true}\n' * 2000, 4096)
    assert made._sequencer.received == 1
    assert made._outbound.count(b"\n") <= 10


def test_both_ends_have_the_same_measures() -> None:
    assert (MAX_LINE, PIECE, WINDOW) == (guest_dial.MAX_LINE, guest_dial.PIECE, guest_dial.WINDOW)
    assert len(json.dumps({"n": 2**53, "a": 2**53, "c": 2**31, "d": "x" * (PIECE * 4 // 3 + 4)})) < MAX_LINE


@contextlib.contextmanager
def fetching(folder: Path, size: int) -> Iterator[tuple[ProcessPipe, socket.socket, Path]]:
    """A `dial` that sends a file, of which the supervisor has taken nothing yet; the file fills the socket."""
    archive, path, name = folder / BUNDLE, str(folder / "socket"), "a" * 32
    archive.write_bytes(bundle().data)
    (folder / "stored").mkdir()
    file = folder / "stored" / name
    file.write_bytes(b"f" * size)
    with socket.socket(socket.AF_UNIX) as supervisor:
        supervisor.bind(path)
        supervisor.listen()
        pipe = ProcessPipe([sys.executable, "-I", "-S", "-B", str(archive), "dial", path])
        line = json.dumps({"n": 1, "c": 1, "f": name, "s": size, "of": size, "z": False})
        pipe.write(line.encode() + b"\n", time.monotonic() + 1)
        connection, _ = supervisor.accept()
        connection.settimeout(10)
        yield pipe, connection, file
        pipe.process.stdin.close()
        pipe.close()


def everything(connection: socket.socket) -> bytes:
    """What arrives until the other end closes."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 20):
            data += piece
    return data


@pytest.mark.parametrize("line", [b'{"n": 2, "c": 1, "d": "eHh4"}', b'{"n": 2, "c": 1, "f": "%s", "s": 3, "of": 3, "z": false}' % (b"b" * 32)])
def test_nothing_is_mixed_into_a_file(tmp_path, line: bytes) -> None:
    size = 4_000_000
    with fetching(tmp_path, size) as (pipe, connection, _):
        said = connection.recv(10)
        assert said == b"f" * 10  # it has begun, and waits for the supervisor
        (tmp_path / "stored" / ("b" * 32)).write_bytes(b"xxx")
        pipe.write(line + b"\n", time.monotonic() + 1)
        while len(said) < size + 3:
            said += connection.recv(1 << 20)
        assert said == b"f" * size + b"xxx"


def test_a_file_that_the_supervisor_does_not_take_leaves_its_room(tmp_path) -> None:
    with fetching(tmp_path, 4_000_000) as (_, connection, file):
        connection.recv(10)
        connection.close()
        deadline = time.monotonic() + 20
        while file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not file.exists()


def test_a_file_that_the_host_asks_for_again_is_there(tmp_path) -> None:
    with fetching(tmp_path, 4_000_000) as (pipe, connection, file):
        connection.recv(10)
        pipe.write(b'{"n": 2, "c": 1, "end": true}\n', time.monotonic() + 1)
        closed = select.poll()
        closed.register(connection, select.POLLRDHUP)
        assert closed.poll(20_000), "what is read before it has closed the connection makes room for more of the file"
        everything(connection)
        assert file.exists()


def test_dial_ends_with_its_input_and_with_a_bye(tmp_path) -> None:
    archive = tmp_path / BUNDLE
    archive.write_bytes(bundle().data)
    for farewell in (b"", b'{"bye": true}\n'):
        pipe = ProcessPipe([sys.executable, "-I", "-S", "-B", str(archive), "dial", str(tmp_path / "none")])
        assert b"hello" in pipe.read(time.monotonic() + 10)
        pipe.write(farewell, time.monotonic() + 1)
        if not farewell:
            pipe.process.stdin.close()
        assert pipe.process.wait(timeout=5) == 0
        pipe.close()


def test_dial_ends_with_its_supervisor_where_its_input_has_no_end(tmp_path) -> None:
    archive = tmp_path / BUNDLE
    archive.write_bytes(bundle().data)
    path = str(tmp_path / "socket")
    pipe = ProcessPipe([sys.executable, "-I", "-S", "-B", str(archive), "dial", path])
    with socket.socket(socket.AF_UNIX) as supervisor:
        supervisor.bind(path)
        supervisor.listen()
        pipe.write(b'{"n": 1, "c": 1, "d": ""}\n', time.monotonic() + 1)
        supervisor.accept()[0].close()
        supervisor.accept()[0].close()  # it asks whether there is still somebody
        pipe.write(b'{"n": 2, "c": 2, "d": ""}\n', time.monotonic() + 1)
        connection, _ = supervisor.accept()
    connection.close()
    assert pipe.process.wait(timeout=5) == 0
    pipe.close()


def test_dial_ends_with_a_supervisor_that_closes_its_listener_last(tmp_path) -> None:
    """As the kernel does it for a process that ends: one descriptor after the other."""
    archive = tmp_path / BUNDLE
    archive.write_bytes(bundle().data)
    path = str(tmp_path / "socket")
    pipe = ProcessPipe([sys.executable, "-I", "-S", "-B", str(archive), "dial", path])
    with socket.socket(socket.AF_UNIX) as supervisor:
        supervisor.bind(path)
        supervisor.listen()
        pipe.write(b'{"n": 1, "c": 1, "d": ""}\n', time.monotonic() + 1)
        supervisor.accept()[0].close()
        supervisor.accept()[0].close()  # it asks whether there is still somebody
    assert pipe.process.wait(timeout=5) == 0
    pipe.close()


def test_a_dialled_stream_is_lost_when_its_sandbox_is() -> None:
    with session(kind=DialledLease) as opened:
        opened.lease.process.kill()
        opened.lease.process.wait()
        with pytest.raises(Lost):
            opened.lease.client.health(seconds=3)


def test_the_socket_of_a_supervisor_is_for_its_own_user(dialled) -> None:
    assert Path(dialled.lease.path).stat().st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(dialled.lease.path)
