"""The zygote: one clean process that forks sealed sessions. It never runs a line of untrusted code.

Boot order: import everything that a session may ever need (no file can be opened later) -> give up root ->
own user, PID, mount, network, IPC, UTS and cgroup namespaces -> fork (the child is pid 1) -> empty root ->
no_new_privs, bounding set, MDWE -> try the walls in throw-away children -> freeze the heap -> serve.

Session order: one socket and nothing else -> own user, network and IPC namespaces -> rlimits ->
not dumpable -> no capabilities -> Landlock -> seccomp -> `ready`. A step that fails is reported, and the host
sends no cell to a session that lacks a wall which its policy requires.

Messages on the control socket (SEQPACKET, JSON): {op: fork, limits, profile, own_namespaces} with the session's
socket -> {pid} with its pidfd; {op: status, pid} -> {status}. Closing it, or the host's death, ends everything.
"""

import contextlib
import errno
import gc
import json
import mmap
import os
import select
import signal
import socket
import sys

from . import compiler, facades, guards, memory, seal, wire
from .worker import Worker

_FULL, _NONE = "full", "none"
_MESSAGE = 256 * 1024
_STATUSES = 4096


def main(control_fd):
    """Boot from the configuration that the host sends first, then serve until it is gone."""
    control = socket.socket(fileno=control_fd)
    config = json.loads(control.recv(_MESSAGE))
    host = os.pidfd_open(config["host_pid"])
    if os.getppid() != config["host_pid"]:
        return  # the host died before we could watch it
    _preload()
    walls = _Walls()
    walls.note("separate-process", f"pid {os.getpid()}, started by exec with an empty environment")
    walls.note("empty-environment", _clear_environment())
    walls.attempt("unprivileged-uid", _leave_root, config["uid"])
    if config["namespaces"]:
        _enter_namespaces(walls)
    if "full" in walls.levels("pid-namespace"):
        child = os.fork()
        if child:
            control.close()
            os.close(host)
            os.waitpid(child, 0)
            return
        seal.die_with_parent(signal.SIGKILL)
    _Zygote(control, host, config, walls).serve()


def _preload():
    facades.preload()
    namespace = guards.build_globals(frozenset(facades.NAMES), print)
    # A first cell pays for caches that every session would otherwise fill again after its fork.
    warm = "import re, json\nx = [i * i for i in range(3)]\nclass A:\n    b = 1\ny = f'{x}'\nz = {k: 1 for k in 'ab'}\n"
    for _ in range(2):
        compiler.run(compiler.compile_cell(warm, source_bytes=4096, ast_nodes=4096), namespace)
    memory.self_test()


def _clear_environment():
    os.environ.clear()
    return "no variables"


def _leave_root(uid):
    if os.getuid() == 0:
        try:
            seal.become(uid)
        except OSError:
            seal.become(65534)  # a container may map few ids; nobody is there in nearly all of them
    if 0 in (*os.getresuid(), *os.getresgid()):
        raise OSError(1, f"still uid {os.getuid()}, gid {os.getgid()}")
    return f"uid {os.getuid()}, gid {os.getgid()}, groups {os.getgroups() if os.getgroups() else 'none'}"


def _enter_namespaces(walls):
    uid, gid = os.getuid(), os.getgid()

    def user():
        seal.unshare(seal.CLONE_NEWUSER)
        seal.map_identity(uid, gid)
        return f"unshare(NEWUSER), {uid} mapped to itself alone"

    if not walls.attempt("user-namespace", user):
        for wall in ("mount-namespace", "network-namespace", "ipc-namespace", "pid-namespace"):
            walls.miss(wall, "needs a user namespace")
        return
    for wall, flags in (
        ("mount-namespace", seal.CLONE_NEWNS),
        ("network-namespace", seal.CLONE_NEWNET),
        ("ipc-namespace", seal.CLONE_NEWIPC),
        ("pid-namespace", seal.CLONE_NEWPID),
    ):
        walls.attempt(wall, seal.unshare, flags, evidence="unshare succeeded")
    with contextlib.suppress(OSError):  # extra, no wall of their own
        seal.unshare(seal.CLONE_NEWUTS | seal.CLONE_NEWCGROUP)


class _Walls:
    """What was tried, and what happened: wall -> [level, evidence]."""

    def __init__(self):
        self.found = {}

    def note(self, wall, evidence):
        self.found[wall] = [_FULL, evidence]

    def miss(self, wall, evidence):
        self.found[wall] = [_NONE, evidence]

    def levels(self, wall):
        return self.found.get(wall, [_NONE])[:1]

    def attempt(self, wall, step, *arguments, evidence=None):
        """Run `step`; its result, or `evidence`, says what held. Returns whether it did not raise."""
        try:
            result = step(*arguments)
        except OSError as error:
            self.miss(wall, str(error))
            return False
        self.note(wall, evidence or str(result))
        return True


class _Zygote:
    def __init__(self, control, host, config, walls):
        self._control = control
        self._host = host
        self._walls = walls
        self._config = config
        self._profiles = {
            name: program and bytes.fromhex(program) for name, program in config["profiles"].items()
        }
        self._children = set()
        self._statuses = {}
        self._landlock = None
        self._own_pid = self._own_user = False

    def serve(self):
        walls = self._walls
        if walls.levels("mount-namespace") == [_FULL]:
            walls.attempt("empty-root", seal.empty_root, evidence="pivot_root to an empty read-only tmpfs")
        else:
            walls.miss("empty-root", "needs a mount namespace")
        walls.attempt("no-new-privs", seal.no_new_privs, evidence="PR_GET_NO_NEW_PRIVS reads 1")
        if self._config["mdwe"]:
            walls.attempt("memory-deny-write-execute", seal.deny_write_execute, evidence="PR_GET_MDWE reads 1")
        with contextlib.suppress(OSError):  # without a capability to drop there is nothing in the set that matters
            seal.empty_bounding_set()
        if self._config["landlock"]:
            walls.attempt("landlock", self._prepare_landlock)
        self._own_pid = walls.levels("pid-namespace") == [_FULL]
        self._own_user = walls.levels("user-namespace") == [_FULL]
        gc.collect()
        gc.freeze()
        self._prove()
        self._send({"op": "booted", "walls": walls.found, "details": self._details()})
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._host, select.POLLIN)
        while True:
            ready = dict(poll.poll(1000 if self._children else None))
            self._reap()
            if self._host in ready:
                os._exit(0)
            if self._control.fileno() in ready:
                self._answer()

    def _prepare_landlock(self):
        abi = seal.landlock_abi()
        self._landlock = seal.landlock_ruleset(abi)
        return f"ABI {abi}, a ruleset that allows nothing"

    def _details(self):
        return {
            "python": sys.version.split()[0],
            "kernel": os.uname().release,
            "machine": os.uname().machine,
            "zero_copy_context": memory.in_place(),
        }

    def _answer(self):
        try:
            data, fds, _flags, _address = socket.recv_fds(self._control, _MESSAGE, 4)
        except ConnectionResetError:
            os._exit(0)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if request["op"] == "fork":
            self._fork(request, fds)
        else:
            self._send({"status": self._status(request["pid"])})

    def _send(self, message, fds=()):
        data = json.dumps(message).encode()
        try:
            socket.send_fds(self._control, [data], fds)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)

    def _fork(self, request, fds):
        try:
            pid = self._spawn(lambda: _session(fds[0], self._landlock, self._profiles[request["profile"]], request))
        except OSError as error:
            self._send({"error": f"fork: {error}"})
            return
        finally:
            for fd in fds:
                os.close(fd)
        self._children.add(pid)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            os.kill(pid, signal.SIGKILL)
            self._send({"error": f"pidfd_open: {error}"})
            return
        self._send({"pid": pid}, [pidfd])
        os.close(pidfd)

    def _spawn(self, body):
        """Fork a child, pid 1 of its own PID namespace where that works, that runs `body` and never returns."""
        if self._own_pid:
            seal.unshare(seal.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                code = 70
                try:
                    body()
                    code = 0
                finally:
                    os._exit(code)
        finally:
            if self._own_pid:
                seal.children_in_own_pid_namespace()
        return pid

    def _reap(self):
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note_end(pid, status)

    def _note_end(self, pid, status):
        self._children.discard(pid)
        self._statuses[pid] = status
        while len(self._statuses) > _STATUSES:
            self._statuses.pop(next(iter(self._statuses)))

    def _status(self, pid):
        if pid in self._children:
            with contextlib.suppress(ChildProcessError):
                done, status = os.waitpid(pid, 0)
                self._note_end(done, status)
        return self._statuses.pop(pid, None)

    def _prove(self):
        """Try what the walls must stop, in children that are sealed like sessions, before reporting them."""
        request = {"limits": {"NPROC": 0, "NOFILE": 128}, "own_namespaces": self._own_user}
        reader, writer = os.pipe()
        probe = self._spawn(lambda: _try_everything(writer, self._landlock, request))
        os.close(writer)
        with os.fdopen(reader) as pipe:
            tried = json.loads(pipe.read(_MESSAGE) or "{}")
        os.waitpid(probe, 0)
        for wall, what in _PROBES.items():
            outcome = tried.get(what, "the probe died")
            level, evidence = self._walls.found.get(wall, [_FULL, "set per session"])
            if level == _FULL:
                held = outcome != "the probe died" and not outcome.startswith("won")
                note = self._walls.note if held else self._walls.miss
                note(wall, f"{evidence}; {what}: {outcome}")
        program = self._profiles["worker"]
        if program is None:
            return
        reader, writer = os.pipe()
        probe = self._spawn(lambda: _forbidden_call(writer, self._landlock, program, request))
        os.close(reader)
        os.close(writer)
        _, status = os.waitpid(probe, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
            self._walls.note("seccomp", f"{len(program) // 8} instructions; socket(2) killed a probe with SIGSYS")
        else:
            self._walls.miss("seccomp", f"a probe called socket(2) and lived (status {status})")


def _keep_only(fd, landlock):
    """Close every descriptor but the session's socket, as number 3, and the ruleset, as number 4."""
    os.dup2(fd, 100)
    if landlock is not None:
        os.dup2(landlock, 101)
        os.dup2(101, wire.FD + 1)
    os.dup2(100, wire.FD)
    for number in range(wire.FD):
        with contextlib.suppress(OSError):
            os.close(number)
    os.closerange(wire.FD + (1 if landlock is None else 2), 1 << 16)


def _seal(landlock, program, request):
    """The walls of one session, in order; seccomp is last. Returns what was achieved."""
    walls = _Walls()
    walls.note("no-inherited-fds", "one socket; everything else closed")
    if request["own_namespaces"]:
        for wall, flags in (
            ("user-namespace", seal.CLONE_NEWUSER),
            ("network-namespace", seal.CLONE_NEWNET),
            ("ipc-namespace", seal.CLONE_NEWIPC),
        ):
            walls.attempt(wall, seal.unshare, flags, evidence="own to this session")
    walls.attempt("rlimits", _limits, request["limits"])
    walls.attempt("not-dumpable", seal.set_dumpable, False, evidence="PR_SET_DUMPABLE 0")
    walls.attempt("no-capabilities", seal.drop_capabilities, evidence="capset to empty sets succeeded")
    if landlock is not None:
        walls.attempt("landlock", seal.landlock_restrict, wire.FD + 1, evidence="landlock_restrict_self succeeded")
        os.close(wire.FD + 1)
    if program is not None:
        walls.attempt("seccomp", seal.seccomp, program, evidence="filter installed")
    return walls


def _limits(limits):
    for name, value in limits.items():
        soft, hard = value if isinstance(value, list) else (value, value)
        seal.limit(name, soft, hard)
    return ", ".join(f"{name} {value}" for name, value in sorted(limits.items()))


def _session(fd, landlock, program, request):
    _keep_only(fd, landlock)
    # Made before the filter is on: the constructor of a socket object calls getsockname.
    worker = Worker(wire.Channel(socket.socket(fileno=wire.FD)))
    worker.listen()
    walls = _seal(landlock, program, request)
    worker.serve(walls.found)


def _forbidden_call(fd, landlock, program, request):
    """A probe sealed like a session that calls socket(2). Returns only where the filter does not hold."""
    _keep_only(fd, landlock)
    _seal(landlock, program, request)
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def _try_everything(fd, landlock, request):
    """A probe with every wall but seccomp: try what the others must stop, and write down what happened."""
    _keep_only(fd, landlock)
    _seal(landlock, None, request)
    outcome = {}
    for what, attempt in _ATTEMPTS.items():
        try:
            outcome[what] = f"won: {attempt()!r}"[:100]
        except OSError as error:
            outcome[what] = errno.errorcode.get(error.errno, str(error.errno))
        except _Stopped as stopped:
            outcome[what] = str(stopped)
    os.write(wire.FD, json.dumps(outcome).encode())


class _Stopped(Exception):
    """An attempt found nothing to win."""


def _list_root():
    names = os.listdir("/")
    if not names:
        raise _Stopped("nothing there")
    return names[:3]


def _open_root():
    return os.open("/", os.O_RDONLY | os.O_DIRECTORY)


def _connect():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(("127.0.0.1", 9))
        except ConnectionRefusedError:
            return "the loopback device answered"
    return "connected"


def _signal_neighbour():
    os.kill(2, 0)
    return "signalled"


def _map_executable():
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    return "mapped"


def _fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


_ATTEMPTS = {
    "listing /": _list_root,
    "opening /": _open_root,
    "connecting to 127.0.0.1:9": _connect,
    "signalling process 2": _signal_neighbour,
    "mapping memory writable and executable": _map_executable,
    "forking": _fork,
}
#: wall -> the attempt in _ATTEMPTS that it must stop
_PROBES = {
    "empty-root": "listing /",
    "landlock": "opening /",
    "network-namespace": "connecting to 127.0.0.1:9",
    "pid-namespace": "signalling process 2",
    "memory-deny-write-execute": "mapping memory writable and executable",
    "rlimits": "forking",
}
