"""Foreign sessions: those of another sandbox, opened through its Adapter in separate host processes (host.py).

What a session offers is found out by trying. Data from a host is hostile: JSON in frames of limited size, read within
a time limit; anything else counts as the death of that host.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import psutil

from rlm_secure.errors import CellException
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.testing import nested
from rlm_secure.testing.corpus import Attack, Layer, Need
from rlm_secure.testing.host import LENGTH, STATUS
from rlm_secure.testing.processes import descendants
from rlm_secure.testing.session import FOREIGN, Habits, HostDied, HostLate, SessionFailed
from rlm_secure.testing.target import Bounds, HostFacts, Target
from rlm_secure.testing.verdict import writable
from rlm_secure.testing.yardstick import Stopwatch
from rlm_secure.types import REPLResult
from rlm_secure.untrusted_json import loads

#: Limits in bytes: one answer of a host (above its largest answer as escaped JSON), and what a host may write to its
#: own standard output.
_MOST_BYTES = 64 << 20
_MOST_SPILLED = 8 << 20
_START_SECONDS = 60.0
_OPEN_SECONDS = 30.0
#: Timeout for forking a host, or for learning that one has ended; the program does nothing else.
_FORK_SECONDS = 10.0
#: Timeout of the cells that are not attacks.
_TRIAL_SECONDS = 10.0
#: How late an answer may be, in seconds that the machine gave (yardstick.py). Less than the judge's own slack, so that
#: this timeout fires first.
_SLACK_SECONDS = 1.2
_TRY_AGAIN = 3
#: Upper bound of the measured round trip of a cell that does nothing.
_MOST_LATENCY = 5.0

#: How to test whether a session has what an attack needs: a cell that prints HAS.
_TRIALS = {
    Need.ANSWER: 'answer["content"] = ""\nprint("HAS", answer["content"] == "")',
    Need.LLM_QUERY: 'print("HAS", llm_query is not None)',
    Need.CTYPES: 'import ctypes\nprint("HAS", ctypes.CDLL(None) is not None)',
}
_PLAIN = 'import os, errno\nprint("HAS", os.getpid() > 0)'
_WORKS = 'print("HAS", 6 * 7 == 42)'


@dataclass(frozen=True, slots=True)
class Abilities:
    """What attacks can use in a session of this kind. `plain`: it runs plain Python and imports standard modules."""

    plain: bool
    has: frozenset[Need]

    def lacks(self, attack: Attack) -> str:
        """Why an attack makes no sense here; "" if it does."""
        if Need.CHANNEL in attack.needs:
            return "it attacks the channel of our worker, which this session has not"
        if Need.VARIABLES in attack.needs:
            return "it is after what a host reports of variables, and this one reports none"
        if missing := sorted(attack.needs - self.has):
            return f"it needs {', '.join(missing)}; that was tried in this session, and is not there"
        if attack.layer is Layer.KERNEL and not self.plain:
            return "it is plain Python; `import os` was tried in this session, and is not there"
        return ""


class ForeignGround:
    """Opens sessions of `package.module:name`, with one host program for each target."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        self._name = name
        self._bounds = bounds
        self._programs: list[ForeignProgram] = []
        self._habits = Habits()

    def opener(self, target: Target) -> ForeignProgram:
        """The program that opens sessions for `target`; always the same one for the same target."""
        for program in self._programs:
            if program.target is target:
                return program
        program = ForeignProgram(self._name, self._bounds, target)
        program.habits = self._habits
        self._programs.append(program)
        return program

    def abilities(self, target: Target) -> Abilities:
        """Test what sessions have, and measure their habits. Raises SessionFailed if none runs a cell."""
        opener = self.opener(target)
        failed = SessionFailed("a cell that prints was run, and nothing came out")
        for _ in range(_TRY_AGAIN):
            try:
                opener.begin()
                if opener.tries(_WORKS):
                    break
            except SessionFailed as error:
                failed = error
            except (HostDied, HostLate) as error:
                failed = SessionFailed(str(error))
        else:
            raise failed
        opener.habits = self._habits = opener.tried_out()
        return Abilities(opener.tries(_PLAIN), frozenset(need for need, cell in _TRIALS.items() if opener.tries(cell)))

    def close(self) -> None:
        """End every program. Idempotent."""
        while self._programs:
            self._programs.pop().close()


class ForeignProgram:
    """The running host.py of one target. Calling it opens a session in the host of the current attempt."""

    def __init__(self, name: str, bounds: Bounds, target: Target) -> None:
        self.target = target
        self.habits = Habits()
        self._name = name
        self._bounds = bounds
        self._host: Host | None = None
        # What sessions write past their own capture ends in the host's standard output: here a file that we read.
        self._output = os.memfd_create("output")
        self._process: subprocess.Popen[bytes] | None = None
        self._own: frozenset[int] = frozenset()

    def __call__(self) -> ForeignSession:
        """Open a session in the host of the current attempt. Raises SessionFailed, HostDied or HostLate."""
        if self._host is None:
            self.begin()
        assert self._host is not None
        return ForeignSession(self._host, self._bounds, self._output, self.habits.cell)

    def tried_out(self) -> Habits:
        """Measure sessions without an attack, as many at a time as the judge opens: one and its neighbours."""
        self.begin()
        sessions: list[ForeignSession] = []
        start, cell, working = 0.0, _MOST_LATENCY, 0
        try:
            for _ in range(1 + Habits().beside):
                watch = Stopwatch()
                sessions.append(self())
                sessions[-1].run(_WORKS, _TRIAL_SECONDS)
                start, watch = max(start, watch.given), Stopwatch()
                sessions[-1].run(_WORKS, _TRIAL_SECONDS)
                cell = min(cell, watch.given)  # the minimum: one slow run must not raise every later timeout
                working += 1
        except (SessionFailed, HostDied, HostLate):
            pass  # the sandbox allows only `working` sessions at a time
        finally:
            for session in sessions:
                session.close()
        return Habits(max(working - 1, 0), start, cell if working else 0.0)

    def end(self) -> None:
        """Kill the host of the current attempt, and the processes that it left running."""
        self._end_host()
        if self._process is not None:
            for each in descendants(self._process.pid):
                with contextlib.suppress(psutil.Error):
                    if each.pid not in self._own:
                        each.kill()
            self.target.end_strays(self._process.pid)

    def begin(self) -> None:
        """Kill the previous host and start a new one, for a new attempt. Raises SessionFailed."""
        self.end()
        try:
            self._host = self._new_host()
        except (OSError, struct.error):  # the last attack reached the host program itself
            try:
                self._host = self._new_host()
            except (OSError, struct.error) as error:
                raise SessionFailed(f"no host for a session starts: {type(error).__name__}") from None

    def _new_host(self) -> Host:
        if self._process is None:
            self._start()
        assert self._process is not None
        self.end()
        self._empty_output()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"host"], [theirs.fileno()])
                pid, _ = STATUS.unpack(self._control.recv(STATUS.size))
                if _parent(pid) != self._process.pid:
                    raise SessionFailed("the program that starts hosts names a process that is none of its own")
            except BaseException:  # including Ctrl-C: stop what was started
                ours.close()
                self._stop()
                raise
        return Host(ours, HostFacts(pid, self._address), self._control, self._output)

    def tries(self, cell: str) -> bool:
        """Whether a fresh session runs `cell` so that it prints HAS True."""
        try:
            session = self()
        except (HostDied, HostLate):
            self.begin()
            session = self()
        try:
            return "HAS True" in session.run(cell, _TRIAL_SECONDS).stdout
        except (HostDied, HostLate):
            return False
        finally:
            session.close()

    def close(self) -> None:
        """End the program and its host. Idempotent."""
        self.end()
        self._stop()
        self.target.end_strays()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1

    def _empty_output(self) -> None:
        os.ftruncate(self._output, 0)
        os.lseek(self._output, 0, os.SEEK_SET)

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            # Far from 3: that is the channel of our own worker, which some attacks target.
            descriptor = _moved_up(theirs)
            program = [sys.executable, "-B", "-P", "-m", "rlm_secure.testing.host", self._name, str(descriptor)]
            command, namespaces = nested.below(program)
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    env=self.target.host_environment,
                    pass_fds=(descriptor, self.target.descriptor, *namespaces),
                    start_new_session=True,
                )
            finally:
                os.close(descriptor)
        self._control.settimeout(_START_SECONDS)
        try:
            self._control.sendall(self.target.secrets["memory"].encode())
            trouble, address = _told(self._control.recv(1 << 16))
        except (OSError, ValueError) as error:
            self._stop()
            raise SessionFailed(f"{self._name} could not be loaded: {type(error).__name__}") from None
        if trouble:
            self._stop()
            raise SessionFailed(f"{self._name} cannot be imported: {writable(trouble)}")
        self._own = frozenset(each.pid for each in descendants(self._process.pid))  # started by the module's import
        self._control.settimeout(_FORK_SECONDS)
        self._address = address

    def _stop(self) -> None:
        if self._process is None:
            return
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _end_host(self) -> None:
        if self._host is not None:
            self._host.close()
            self._host = None


def _moved_up(end: socket.socket) -> int:
    import fcntl

    return fcntl.fcntl(end.fileno(), fcntl.F_DUPFD, 200)


class Host:
    """One process that holds sessions, as seen by the judge."""

    def __init__(self, connection: socket.socket, facts: HostFacts, control: socket.socket, output: int) -> None:
        self.facts = facts
        self._connection = connection
        self._control = control
        self._output = output
        self._next = 0
        self._gone = ""

    def open(self, bounds: Bounds) -> tuple[int, bool]:
        """Open a session under `bounds`; return its number, and whether it keeps its state."""
        self._next += 1
        number = self._next
        limits = [bounds.seconds, bounds.memory_bytes, bounds.stdout_bytes, bounds.calls]
        answer = self.ask({"op": "open", "session": number, "limits": limits}, _OPEN_SECONDS)
        return number, answer.get("keeps_state") is True

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the answer. Raises SessionFailed if the adapter raised, HostDied and HostLate."""
        if self._gone:
            raise HostDied(self._gone)
        data = json.dumps(request).encode("ascii")
        watch = Stopwatch()
        try:
            self._connection.settimeout(seconds)
            self._connection.sendall(LENGTH.pack(len(data)) + data)
            (length,) = LENGTH.unpack(self._exactly(LENGTH.size, seconds, watch))
            if length > _MOST_BYTES:
                raise ValueError("too long")
            answer = loads(self._exactly(length, seconds, watch))
            if not isinstance(answer, dict):
                raise TypeError("no object")
        except TimeoutError:
            self._kill()
            self._gone = "its host was killed"
            raise HostLate(f"no answer after {watch.passed:.1f} s, where {seconds:.1f} s were allowed") from None
        except (EOFError, ConnectionError):
            self._gone = f"the process that held the session {self._exit_reason()}"
            raise HostDied(self._gone) from None
        except (ValueError, TypeError) as error:
            self._kill()
            self._gone = f"the process that held the session says what cannot be read ({type(error).__name__})"
            raise HostDied(self._gone) from None
        if "raised" in answer:
            failed = SessionFailed(writable(f"the adapter raised {_text(answer['raised'])[:500]}"))
            failed.trace = writable(_text(answer.get("trace")))
            raise failed
        return answer

    def close(self) -> None:
        """Kill the host and every process that it started. Idempotent."""
        self._kill()
        self._connection.close()

    def _exactly(self, count: int, seconds: float, watch: Stopwatch) -> bytes:
        data = bytearray()
        self._connection.settimeout(None)
        while len(data) < count:
            if watch.given > seconds:
                raise TimeoutError
            if os.fstat(self._output).st_size > _MOST_BYTES:
                raise ValueError("it floods its host's standard output")
            ready = select.select([self._connection, self._control], [], [], 0.1)[0]
            if ready == [self._control]:  # the host ended, but another process holds its end of the connection
                raise EOFError
            if not ready:
                continue
            chunk = self._connection.recv(min(count - len(data), 1 << 20))
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)

    def _kill(self) -> None:
        if self._gone:
            return  # its pid may be reused by now; Target.end_strays kills what it left behind
        for child in descendants(self.facts.pid):
            with contextlib.suppress(psutil.Error):
                child.kill()
        self._exit_reason()

    def _exit_reason(self) -> str:
        """Kill the host if it still runs, and return how it ended. Afterwards its pid may be reused."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.facts.pid, signal.SIGKILL)  # no effect on the status of one that has ended
        try:
            _, status = STATUS.unpack(self._control.recv(STATUS.size))
        except (OSError, struct.error):
            return "is gone, and so is its parent"
        finally:
            self._gone = self._gone or "its host is gone"
        with contextlib.suppress(ValueError):
            return f"died of {signal.Signals(-status).name}"
        return f"ended with status {status}"


class ForeignSession:
    """One foreign session, for the judge."""

    report = EnforcementReport(FOREIGN, ())

    def __init__(self, host: Host, bounds: Bounds, output: int, latency: float) -> None:
        self._host = host
        self._bounds = bounds
        self._output = output
        self._latency = latency
        self._number, self._keeps_state = host.open(bounds)
        self._written = os.fstat(output).st_size
        self._prelude: str | None = None

    @property
    def host(self) -> HostFacts:
        """The process of its host, and the address of the secret."""
        return self._host.facts

    def spilled(self) -> str:
        """What was written to the host's own standard streams, past the session's capture."""
        return os.pread(self._output, _MOST_SPILLED, self._written).decode("utf-8", "replace")

    def held_bytes(self) -> int:
        """The greater of two sizes in bytes: the peak of any one process of the host, and all of them together now.

        Memory that several of them share counts once.
        """
        now = peak = 0
        for process in self._processes():
            with contextlib.suppress(psutil.Error, OSError):
                resident, own = _resident(process.pid)
                now += own
                peak = max(peak, _peak(process.pid) - (resident - own))
        return max(now, peak)

    def forget_peak(self) -> None:
        """Restart the measurement of `held_bytes`."""
        for process in self._processes():
            with contextlib.suppress(OSError), open(f"/proc/{process.pid}/clear_refs", "w") as file:  # noqa: PTH123
                file.write("5")  # the peak of resident memory (proc_pid_clear_refs(5))

    def busy_seconds(self) -> float:
        """CPU seconds of the host and its living descendants."""
        used = 0.0
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                used += sum(process.cpu_times()[:2])
        return used

    def _processes(self) -> list[psutil.Process]:
        pid = self._host.facts.pid
        with contextlib.suppress(psutil.Error):
            return [psutil.Process(pid), *descendants(pid)]
        return []

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell. If the session keeps no state, the first cell is run again before every later one."""
        if not self._keeps_state:
            self._prelude, code = (code, code) if self._prelude is None else (self._prelude, self._prelude + code)
        seconds = self._bounds.seconds if timeout is None else timeout
        request = {"op": "run", "session": self._number, "code": code, "timeout": seconds}
        said = self._host.ask(request, seconds + self._bounds.grace + _SLACK_SECONDS + self._latency)
        stdout, stderr, error = (_text(said.get(name)) for name in ("stdout", "stderr", "error"))
        return REPLResult(stdout, stderr, {}, error=None if said.get("error") is None else CellException(error))

    def close(self) -> None:
        """Close the session. A host that fails to is killed before the next attempt."""
        with contextlib.suppress(SessionFailed, HostDied, HostLate):
            self._host.ask({"op": "close", "session": self._number}, _OPEN_SECONDS)


def _told(data: bytes) -> tuple[str, int]:
    """Decode the program's first message: why the import failed ("" if it did not), and the address of the secret.

    Raises ValueError for anything else: the imported module may have written to the socket.
    """
    told = loads(data)
    trouble, address = (told.get(name) for name in ("trouble", "address")) if isinstance(told, dict) else (None, None)
    if not isinstance(trouble, str) or type(address) is not int or not 0 <= address < 1 << 64:
        raise ValueError("it is not what a program of hosts says")
    return trouble, address


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parent(pid: int) -> int:
    """The parent of a process; 0 if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _resident(pid: int) -> tuple[int, int]:
    """Resident bytes (Rss), and its proportional share of them (Pss): a page that n processes share counts as 1/n.

    Both from one read (proc_pid_smaps(5)): memory allocated between two reads would count as negative sharing.
    """
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        sizes = {line.split(":")[0]: line.split()[1] for line in file if line.startswith(("Rss:", "Pss:"))}
    resident, own = (int(sizes.get(name, 0)) << 10 for name in ("Rss", "Pss"))
    return resident, own


def _peak(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        return next((int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:")), 0)
