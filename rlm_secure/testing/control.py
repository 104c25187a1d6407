"""Controls: without any wall the same attack must win. Otherwise its defeat proves nothing."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.removal import Scratch
from rlm_secure.resources import sandboxes_dir
from rlm_secure.testing.corpus import Attack, Excuse, Need, Win
from rlm_secure.testing.processes import plain
from rlm_secure.testing.target import Bounds, Target
from rlm_secure.testing.verdict import claims
from rlm_secure.untrusted_json import MalformedJson, loads

#: Set for every control; they protect the machine, not the host process.
_LIMITS = {"RLIMIT_DATA": 1 << 30, "RLIMIT_FSIZE": 256 << 20, "RLIMIT_CORE": 0}
#: Processor time of a control, in seconds: the machine's protection as well.
_CPU_SECONDS = 20
#: A naive host that has received no valid answer for this long would wait forever.
_NAIVE_SECONDS = 3.0
#: Time limit of all other attacks, and of the interpreter's start: long enough for a busy machine.
_PATIENCE_SECONDS = 30.0
#: On a busy machine a signal may take this long to end a process.
_SIGNAL_SECONDS = 2.0
_BOUNDS = Bounds()
_HEADER = struct.Struct(">I")
_PIPE = 1 << 16


@dataclass(frozen=True, slots=True)
class Control:
    """What an attack did in plain Python. `evidence` says how it won, or is its last output if it lost."""

    name: str
    won: bool
    evidence: str
    excuse: Excuse
    reason: str

    @property
    def checked(self) -> bool:
        """Whether the defeat of this attack by a session proves anything on this machine."""
        return self.won

    @property
    def excused(self) -> bool:
        """Whether the attack's header says why it may not win here."""
        return self.excuse is Excuse.MACHINE or (self.excuse is Excuse.ROOT and os.getuid() != 0)


def control(attack: Attack, target: Target, bounds: Bounds = _BOUNDS, *, patience: int = 1) -> Control:
    """Run `attack` in plain Python against `target` and report whether it won, under the `bounds` of a session.

    An attack that needs time to win gets `patience` times the usual: a slow machine may need it.
    """
    target.reset()
    if attack.wins is Win.REMAINS:
        target.count_processes()
    with Scratch() as scratch, contextlib.ExitStack() as cleanup:
        ours, theirs = socket.socketpair()
        cleanup.enter_context(ours)
        begins, begun = os.pipe2(os.O_CLOEXEC)
        cleanup.callback(os.close, begins)
        with theirs, os.fdopen(begun, "wb"):
            facts = target.facts("".join(attack.cells), bounds)
            job = _write_job(scratch, attack, facts, theirs.fileno(), begun, patience * _CPU_SECONDS)
            fds = (theirs.fileno(), begun, target.descriptor)
            process = plain(job, target.environment, scratch, fds=fds)
        cleanup.callback(_end, process)
        seconds = {Win.OUTLASTS: bounds.seconds + bounds.grace, Win.BREAKS: _NAIVE_SECONDS}
        watch = _Watch(
            process,
            ours,
            begins,
            limit=4 * bounds.stdout_bytes,
            patient=attack.wins is Win.OUTLASTS,
            claims=attack.wins in (Win.PRINTS, Win.REFLECTS),
            answers=attack.wins is Win.PRINTS and Need.CHANNEL in attack.needs,
        )
        watch.run(seconds.get(attack.wins, patience * _PATIENCE_SECONDS), starts_in=patience * _PATIENCE_SECONDS)
        evidence = _victory(attack, target, watch, bounds.stdout_bytes)
        last_words = watch.last_words()  # asked before the process is ended: this is what it ended by itself with
    if attack.wins is Win.REMAINS:
        target.end_strays()  # already recorded as evidence, and would otherwise run on
    if evidence:
        return Control(attack.name, True, evidence, attack.excuse, attack.reason)
    return Control(attack.name, False, last_words, attack.excuse, attack.reason)


def _write_job(scratch: Path, attack: Attack, facts: object, channel: int, begun: int, cpu_seconds: int) -> Path:
    cells = []
    for index, source in enumerate(attack.cells):
        path = scratch / f"cell_{index}.py"
        path.write_bytes(source.encode("utf-8", "surrogatepass"))
        cells.append(str(path))
    prelude = str(sandboxes_dir() / "attacks" / "_prelude.py")
    job = scratch / "job.json"
    limits = {"RLIMIT_CPU": cpu_seconds, **_LIMITS}
    described = {
        "cells": cells, "facts": facts, "prelude": prelude, "channel": channel, "begun": begun, "limits": limits,
    }  # fmt: skip
    job.write_text(json.dumps(described), encoding="utf-8")
    return job


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


class _Watch:
    """Reads the output of a control until it ends, exceeds `limit` bytes (if `patient`, the excess is dropped instead),
    or its time is over, which begins with the attack: the process then closes the other end of the pipe `begins`. With
    `claims` one that has won is not watched any longer: what it has made may take a second to be shown. With `answers`
    it replies to the first call on the channel, as a naive host would."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        channel: socket.socket,
        begins: int,
        *,
        limit: int,
        patient: bool,
        claims: bool,
        answers: bool,
    ) -> None:
        self._process = process
        self._channel = channel
        self._begins = begins
        self._limit = limit
        self._patient = patient
        self._claims = claims
        self._answers = answers
        self.text = bytearray()
        self.complaints = bytearray()
        self.frames = bytearray()
        self.overdue = False
        self.flooded = False

    def run(self, seconds: float, *, starts_in: float) -> None:
        """Read for `seconds` from when the attack begins, which it has to in `starts_in` seconds.

        What does not begin outlasts nothing: it is not overdue.
        """
        assert self._process.stdout is not None and self._process.stderr is not None
        deadline, begun = time.monotonic() + starts_in, False
        sinks = {
            self._process.stdout.fileno(): self.text,
            self._process.stderr.fileno(): self.complaints,
            self._channel.fileno(): self.frames,
        }
        with selectors.DefaultSelector() as selector:
            for fd in (*sinks, self._begins):
                selector.register(fd, selectors.EVENT_READ)
            while selector.get_map():
                gone = self._process.poll() is not None  # polled before select: its last output is then in the pipes
                ready = selector.select(0 if gone else min(max(deadline - time.monotonic(), 0), 0.05))
                for key, _ in ready:
                    chunk = _read(key.fd)
                    if key.fd == self._begins:
                        deadline, begun = time.monotonic() + seconds, True
                        selector.unregister(key.fd)
                        continue
                    if len(sinks[key.fd]) <= self._limit:
                        sinks[key.fd] += chunk
                    if not chunk:
                        selector.unregister(key.fd)
                if self._answers:
                    self._answer()
                self.flooded = not self._patient and max(map(len, sinks.values())) > self._limit
                ended = (gone and not ready) or self._has_won()
                over = time.monotonic() >= deadline
                self.overdue = over and begun and not ended
                if self.flooded or over or ended:
                    return
            try:  # every pipe is closed, but the process may still run
                self._process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                self.overdue = True

    def _has_won(self) -> bool:
        """Whether it claims so, in a whole line of its output (of `limit` bytes and what one read adds, at most)."""
        return self._claims and bool(_claimed(self.text[: self.text.rfind(b"\n") + 1]))

    def _answer(self) -> None:
        """Answer the first call: a naive host claims to have whatever tool is requested."""
        try:
            message = _message(self.frames)
        except (EOFError, MalformedJson):
            return
        if not isinstance(message, dict) or message.get("op") != "call":
            return
        self._answers = False
        said = json.dumps({"op": "reply", "value": f"what {message.get('tool')} returned"}).encode("ascii")
        with contextlib.suppress(OSError):
            self._channel.sendall(_HEADER.pack(len(said)) + said)

    def status(self) -> int | None:
        """The exit status; negative for a signal, None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """The last line of its output, for a control that did not win."""
        lines = (self.complaints or self.text).decode("utf-8", "replace").strip().splitlines()
        if lines:
            return lines[-1][:200]
        return "silence, its time was over" if self.overdue else f"silence, exit status {self.status()}"


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _PIPE)
    except ConnectionResetError:
        return b""


def _victory(attack: Attack, target: Target, watch: _Watch, stdout_bytes: int) -> str:
    """How the attack won, judged by the `wins` of its header; "" if it did not."""
    text = (watch.text + b"\n" + watch.complaints).decode("utf-8", "replace")
    found: list[str] = []
    match attack.wins:
        case Win.REVEALS:
            found = target.leaked(text)
        case Win.PRINTS | Win.REFLECTS:
            found = _claimed(watch.text)
        case Win.CONNECTS:
            found = target.heard()
        case Win.WRITES:
            found = target.damage()
        case Win.SIGNALS:
            found = ["the bystander is gone"] if target.signalled(_SIGNAL_SECONDS) else []
        case Win.OUTLASTS:
            found = ["still running"] if watch.overdue else []
        case Win.REMAINS:
            found = target.leftovers()
        case Win.FLOODS:
            flooded = watch.flooded or len(text) > stdout_bytes
            found = [f"{len(text)} bytes of output"] if flooded else []
        case Win.BREAKS:
            found = [_broken(watch)] if _broken(watch) else []
    return ", ".join(found)[:200]


def _claimed(text: bytearray) -> list[str]:
    return [claim.text for claim in claims(1, text.decode("utf-8", "replace"))]


def _broken(watch: _Watch) -> str:
    if watch.flooded:
        return "more than a naive host can take"
    if watch.overdue:
        return "a naive host would wait for ever"
    if status := watch.status():
        return f"the host ended with status {status}"
    if not watch.frames:
        return ""
    # Only the attack wrote to this channel: any frame that a naive host reads from it is forged, or breaks the host.
    try:
        return f"a forged frame: {str(_message(watch.frames))[:60]}"
    except EOFError as error:
        return str(error)
    except MalformedJson as refused:
        return f"a frame that breaks a parser, or is none: {refused}"


def _message(frames: bytearray) -> object:
    """Decode the first frame. Raises EOFError for an incomplete one, and MalformedJson."""
    if len(frames) < _HEADER.size:
        raise EOFError("half a frame, and a naive host waits for the rest")
    (length,) = _HEADER.unpack(frames[: _HEADER.size])
    body = bytes(frames[_HEADER.size : _HEADER.size + length])
    if len(body) < length:
        raise EOFError(f"a frame of {length} bytes that never comes")
    return loads(body)
