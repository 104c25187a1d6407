"""The zygote: one clean process that forks sealed sessions. It never runs untrusted code.

Boot order: import everything that a session may ever need (no file can be opened later) -> drop root ->
own user, PID, mount, network, IPC, UTS and cgroup namespaces -> fork (the child is pid 1) -> empty root ->
no_new_privs, bounding set, MDWE -> fork the first session, if the host has asked for it -> test the walls in
short-lived children -> report what held -> run a trial session of our own, a moment later -> freeze the heap -> serve.
The first session seals itself while the walls are tested; the host sends it nothing before it knows what held.

Session order: close all descriptors but one socket -> own user, network and IPC namespaces -> not dumpable ->
no capabilities -> Landlock -> the host sends the session's setup over its own socket (prefork.py) -> rlimits ->
seccomp -> `ready`. A step that fails is reported, and the host sends no cell to a session that lacks a wall which its
policy requires.

Messages on the control socket (SEQPACKET, JSON). None contains anything about a session, because every later session
inherits the zygote's memory, with all that it has received.
    {op: fork, leash?} -> {pid} with the session's socket, its pidfd and, if requested, its leash (leash.py)
    {op: status, pid} -> {status}
    {op: signal, pid, number} where the kernel has no pidfds (gVisor; {pid} then has none), and for hosts of another uid
Any of them may be answered with {error}. An answer repeats the `id` of its request, if it has one, so that a late
answer is not taken for that of the next request. Everything ends when the socket is closed or the host dies.

Guards: the process that sessions are forked from, which never runs their code
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
import zoneinfo
from collections.abc import Callable
from typing import Any, NoReturn

from .. import wire
from ..kernel import leash, probes, seal, walls
from ..session import memory, worker
from . import boot, prefork

_MESSAGE = 256 * 1024
_STATUSES = 4096
_STATUS_TRIES = 50
_REAP_MILLISECONDS = 1000
#: In which a program that runs one cell, and ends, has ended.
_FIRST_CELL_MILLISECONDS = 25


def main(control_fd: int) -> None:
    """Boot with the configuration, which is the host's first message, then serve until the host is gone."""
    boot.default_signals()
    control = socket.socket(fileno=control_fd)
    boot.import_late()  # the host is not ready to say more yet
    config = wire.loads(control.recv(_MESSAGE))
    host = prefork.pidfd(config["host_pid"])
    if os.getppid() != config["host_pid"] and not config.get("apart"):
        return  # the host died before we could watch its pidfd
    try:
        if "zones" in config:  # the host's folders; a supervisor sends none
            zoneinfo.reset_tzpath(config["zones"])
        boot.preload(config.get("packages"))
    except Exception as error:
        if not config.get("packages") or not config["packages"]["names"] or config["packages"]["paths"] is not None:
            raise
        # The image is not what the policy needs: the host says so, and what to build.
        control.send(wire.encode({"op": "unfit", "error": str(error)[:300]}).encode("ascii"))
        return
    boot.raise_file_limit()
    found = walls.Walls()
    found.note("separate-process", f"pid {os.getpid()}, started by exec with an empty environment")
    found.note("empty-environment", boot.clear_environment())
    found.attempt("unprivileged-uid", boot.leave_root, config["uid"])
    if config["namespaces"]:
        boot.enter_namespaces(found)
    if found.held("pid-namespace"):
        gc.collect()
        gc.freeze()  # before the fork: a collection writes to every object, so that the parent would keep a copy of all
        child = os.fork()
        if child:
            control.close()
            os._exit(boot.report_end(os.waitpid(child, 0)[1]))
        seal.die_with_parent(signal.SIGKILL)
    _Zygote(control, host, config, found).serve()


def _id(request: dict[str, Any]) -> dict[str, Any]:
    return {"id": request["id"]} if "id" in request else {}


class _Zygote:
    def __init__(self, control: socket.socket, host: int | None, config: dict[str, Any], found: walls.Walls) -> None:
        self._control = control
        self._host = host
        self._found = found
        self._config = config
        self._profiles = {name: program and bytes.fromhex(program) for name, program in config["profiles"].items()}
        self._landlock: int | None = None
        self._children: set[int] = set()
        self._statuses: dict[int, int] = {}
        self._own_pid = self._own_user = False
        self._answered = _id(config)  # the id of the request that is being answered

    def serve(self) -> NoReturn:
        found = self._found
        tested = memory.start_self_test()  # before the limits, which allow no memory file; it ends by itself
        if found.held("mount-namespace"):
            found.attempt("empty-root", seal.empty_root, evidence="pivot_root to an empty read-only tmpfs")
        else:
            found.miss("empty-root", "needs a mount namespace")
        found.attempt("no-new-privs", seal.no_new_privs, evidence="PR_GET_NO_NEW_PRIVS reads 1")
        if self._config["mdwe"]:
            found.attempt("memory-deny-write-execute", seal.deny_write_execute, evidence="PR_GET_MDWE reads 1")
        with contextlib.suppress(OSError):  # without the capability to drop it, nothing in the set can be used
            seal.empty_bounding_set()
        if self._config["landlock"]:
            found.attempt("landlock", self._prepare_landlock)
        self._own_pid, self._own_user = found.held("pid-namespace"), found.held("user-namespace")
        found.attempt("rlimits", walls.shared_limits)
        refused = walls.bound_message_queues() if found.held("rlimits") else None
        poll = select.poll()
        for watched in (self._control, self._host):
            if watched is not None:  # without a pidfd of the host, only the end of the control socket is noticed
                poll.register(watched, select.POLLIN)
        memory.enable_in_place(tested)
        worker.install_handlers()
        if self._control.fileno() in dict(poll.poll(0)):
            self._answer()  # the host wants the first session as soon as there can be one
            self._answered = _id(self._config)
        self._prove(*self._start_proof())
        walls.note_message_queues(found, refused)
        self._send({"op": "booted", "walls": found.found, "details": self._details()})
        ready = dict(poll.poll(_FIRST_CELL_MILLISECONDS))  # the first session has the processors meanwhile
        if self._host in ready or ready.get(self._control.fileno(), 0) & select.POLLHUP:
            os._exit(0)
        boot.warm_up()
        for modules in self._config.get("modules", ()):
            worker.prepare(modules)  # after the trial session, which must not have the globals of real ones
        gc.collect()
        gc.freeze()
        gc.enable()
        while True:
            ready = dict(poll.poll(_REAP_MILLISECONDS if self._children else None))
            self._reap()
            if self._host in ready:
                os._exit(0)
            if self._control.fileno() in ready:
                self._answer()

    def _prepare_landlock(self) -> str:
        abi = seal.landlock_abi()
        self._landlock, known = seal.landlock_ruleset(abi)
        return f"ABI {abi}, a ruleset that allows nothing" + (f" of what ABI {known} knows" if known != abi else "")

    def _details(self) -> dict[str, Any]:
        return {
            "python": sys.version.split()[0],
            "kernel": os.uname().release,
            "machine": os.uname().machine,
            "zero_copy_context": memory.in_place(),
        }

    def _answer(self) -> None:
        try:
            data = self._control.recv(_MESSAGE)
        except ConnectionResetError:
            os._exit(0)
        if not data:
            os._exit(0)
        request = wire.loads(data)
        self._answered = _id(request)
        try:
            match request["op"]:
                case "fork":
                    self._fork(leashed=request.get("leash") is True)
                case "status":
                    self._send({"status": self._status(request["pid"])})
                case "signal":
                    # Only our own children, which only we reap: so the pid cannot belong to another process by now.
                    if request["pid"] in self._children:
                        os.kill(request["pid"], request["number"])
                    self._send({})
                case unknown:
                    self._send({"error": f"no such request: {unknown}"})
        except OSError as error:
            self._send({"error": str(error)})

    def _send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        data = wire.encode({**message, **self._answered}).encode("ascii")
        try:
            socket.send_fds(self._control, [data], fds)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)

    def _fork(self, *, leashed: bool) -> None:
        child = prefork.Child(self._spawn, self._profiles, self._landlock, own_namespaces=self._own_user)
        self._children.add(child.pid)
        self._statuses.pop(child.pid, None)  # of an earlier process with this pid, which nobody asked for
        pidfd = () if child.pidfd is None else (child.pidfd,)
        ends = leash.attach(child.pid) if leashed else ()
        try:
            self._send({"pid": child.pid}, (child.connection.fileno(), *pidfd, *ends))
        finally:
            for end in ends:
                os.close(end)
            child.close()

    def _spawn(self, body: Callable[[], None]) -> int:
        """Fork a child that runs `body` and exits; return its pid. It is pid 1 of its own PID namespace if possible."""
        pid = seal.fork(seal.CLONE_NEWPID if self._own_pid else 0)
        if pid == 0:
            code = 70
            try:
                if not self._own_pid:
                    seal.die_with_parent(signal.SIGKILL)
                body()
                code = 0
            finally:
                os._exit(code)
        return pid

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            self._statuses[pid] = status
            while len(self._statuses) > _STATUSES:
                self._statuses.pop(next(iter(self._statuses)))

    def _status(self, pid: int) -> int | None:
        # The host asks after a worker has died. The wait is short: one session must never block the zygote.
        for _ in range(_STATUS_TRIES):
            self._reap()
            if pid not in self._children:
                break
            time.sleep(0.001)
        return self._statuses.pop(pid, None)

    def _start_proof(self) -> tuple[int, int, int | None]:
        """Start to test the walls: children that are sealed like sessions try what each must stop.

        Returns the pipe with the outcomes, the process that writes them, and the one that tests the filter, if any.
        """
        own, program = self._own_user, self._profiles["worker"]
        reader, writer = os.pipe()
        map_pages = memory.map_pages  # passed as an argument, because kernel/ must not import from session/
        probe = self._spawn(lambda: probes.try_everything(writer, self._landlock, map_pages, own_namespaces=own))
        caller = None  # at the same time, as neither needs the other
        if program is not None:
            caller = self._spawn(lambda: probes.forbidden_call(writer, self._landlock, program, own_namespaces=own))
        os.close(writer)
        return reader, probe, caller

    def _prove(self, reader: int, probe: int, caller: int | None) -> None:
        """Finish the test before the walls are reported: one that did not stop its attempt is missing."""
        with os.fdopen(reader, "rb") as pipe:
            tried = wire.loads(pipe.read(_MESSAGE) or b"{}")
        os.waitpid(probe, 0)
        for wall, what in probes.PROBES.items():
            outcome = tried.get(what, "the probe died")
            if not self._found.held(wall):
                continue
            stopped = outcome != "the probe died" and not outcome.startswith("won")
            note = self._found.note if stopped else self._found.miss
            note(wall, f"{self._found.found[wall][1]}; {what}: {outcome}")
        program = self._profiles["worker"]
        if program is None or caller is None:
            return
        _, status = os.waitpid(caller, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
            self._found.note("seccomp", f"{len(program) // 8} instructions; socket(2) killed a probe with SIGSYS")
        else:
            self._found.miss("seccomp", f"a probe called socket(2) and lived (status {status})")
