"""The shipped seccomp profiles do what they say: every call on a list works, every call off it kills.

The cases are derived from the JSON files, so a call that is added to one is tested or fails for want of an
example. Each refusal has its control: the same call without the filter.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyseccomp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rlm_secure.environments.seccomp import Profile, SyscallRule, assemble, compile_profile, read_profile
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.resources import seccomp_names, seccomp_profile
from tests.effort import examples
from tests.local import bpf

MACHINE = platform.machine()
WORKERS = ("worker", "worker-checkpoint")
PROFILES = {name: read_profile(seccomp_profile(name)) for name in WORKERS}
PAGE = mmap.PAGESIZE
READ, WRITE, EXECUTE = 1, 2, 4
SHARED, PRIVATE, ANONYMOUS, DROPPABLE, GROWSDOWN, HUGETLB = 0x01, 0x02, 0x20, 0x08, 0x0100, 0x40000
MAY_MOVE, MOVE_FIXED, DONT_UNMAP = 1, 2, 4
#: On x86_64 the kernel asks no filter about these two: uretprobe (a call since Linux 6.11, exempt since 6.14 and in the
#: stable 6.12.14 and 6.13.3) and uprobe (both since 6.18); seccomp_uprobe_exception in kernel/seccomp.c.
EXEMPT = {"x86_64": {"uretprobe": 335, "uprobe": 336}}.get(MACHINE, {})
RLIMIT_DATA = 256 * 1024 * 1024


def number(name: str, machine: str = MACHINE) -> int:
    return int(pyseccomp.resolve_syscall(getattr(pyseccomp.Arch, machine.upper()), name))


def here(rule: SyscallRule) -> list[str]:
    """The names of a rule that this machine has."""
    return [name for name in rule.names if number(name) >= 0]


def holds(rule: SyscallRule, args: tuple[int, ...]) -> bool:
    """Whether a rule's conditions hold: our own reading of the OCI format."""
    for each in rule.args:
        value = args[each.index] & (2**64 - 1)
        match each.op:
            case "EQ":
                true = value == each.value
            case "NE":
                true = value != each.value
            case "MASKED_EQ":
                true = value & each.value == each.other
            case _:
                raise AssertionError(f"no profile uses {each.op} yet; teach it to this test")
        if not true:
            return False
    return True


def expected(profile: Profile, name: str, args: tuple[int, ...]) -> int:
    """The verdict that a profile asks for."""
    verdicts = {
        bpf.ALLOW if rule.action == "SCMP_ACT_ALLOW" else bpf.ERRNO | rule.errno
        for rule in profile.rules
        if name in rule.names and holds(rule, args)
    }
    assert len(verdicts) <= 1, f"rules for {name} contradict each other for {args}"
    return verdicts.pop() if verdicts else bpf.KILL_PROCESS


# -- every call on the list works ------------------------------------------------------------------------

_PAGES = mmap.mmap(-1, 16 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
_ADDRESS = ctypes.addressof(ctypes.c_char.from_buffer(_PAGES))
_WORD = (ctypes.c_int * 16)(0)
_BYTES = ctypes.create_string_buffer(4096)
_SPEC = ctypes.create_string_buffer((0).to_bytes(8, "little") + (1).to_bytes(8, "little"))
_MESSAGE = ctypes.create_string_buffer(56)


def address(thing: object) -> int:
    return ctypes.addressof(thing)  # type: ignore[arg-type]


#: For every call that a profile allows, arguments with which it must succeed, and what success is.
NOTHING_TO_DO = (-1, errno.EAGAIN)
EXAMPLES: dict[str, list[tuple[tuple[int, ...], tuple[int, int] | str]]] = {
    "read": [((3, address(_BYTES), 0), "ok")],
    "write": [((3, address(_BYTES), 0), "ok")],
    "recvmsg": [((3, address(_MESSAGE), 0), NOTHING_TO_DO)],
    "close": [((0,), "ok")],
    "mmap": [
        ((0, PAGE, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0), "ok"),
        ((0, PAGE, 0, PRIVATE | ANONYMOUS | 0x4000, -1, 0), "ok"),
        ((0, PAGE, READ, PRIVATE, "memfd", 0), "ok"),  # type: ignore[list-item]
        ((_ADDRESS + 12 * PAGE, PAGE, READ, PRIVATE | 0x10, "memfd", 0), "ok"),  # type: ignore[list-item]
    ],
    "munmap": [((_ADDRESS + 8 * PAGE, PAGE), "ok")],
    "mremap": [((_ADDRESS + 9 * PAGE, PAGE, PAGE, MAY_MOVE), "ok")],
    "brk": [((0,), "ok")],
    "madvise": [((_ADDRESS + 10 * PAGE, PAGE, advice), "ok") for advice in (4, 8, 14)],
    "getrandom": [((address(_BYTES), 16, flags), "ok") for flags in (0, 1)],
    "clock_gettime": [((clock, address(_BYTES)), "ok") for clock in range(4)],
    "clock_getres": [((clock, address(_BYTES)), "ok") for clock in range(4)],
    "clock_nanosleep": [((clock, flags, address(_SPEC), 0), "ok") for clock in (0, 1) for flags in (0, 1)],
    "getrusage": [((0, address(_BYTES)), "ok")],
    "futex": [
        ((address(_WORD), 0 | 0x80, 1), NOTHING_TO_DO),
        ((address(_WORD), 1 | 0x80, 1), "ok"),
        ((address(_WORD), 9 | 0x80 | 0x100, 1, 0, 0, 0xFFFFFFFF), NOTHING_TO_DO),
    ],
    "restart_syscall": [((), (-1, errno.EINTR))],
    "rt_sigreturn": [],  # tried by delivering a signal, below
    "rt_sigprocmask": [((how, 0, address(_BYTES), 8), "ok") for how in (0, 2)],
    "getpid": [((), "ok")],
    "gettid": [((), "ok")],
    "exit_group": [((0,), "exit")],
    # worker-checkpoint
    "clone": [((0x1200011, 0, 0, 0, 0), "fork")],
    "dup2": [((3, 3), "ok")],
    "dup3": [((4, 3, 0), "ok")],
}


def attempt(name: str, args: tuple[int | str, ...]) -> tuple[int, int] | None:
    """Make one call in the filtered child."""
    result = bpf.call(number(name), *args)
    if name == "clone" and result[0] == 0:
        os._exit(0)  # the forked child
    return result


def prepared(args: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """`args` with a real descriptor where one is named: made before the filter is on."""
    fd = os.memfd_create("example")
    os.truncate(fd, PAGE)
    os.dup2(3, 4)
    os.set_blocking(3, False)
    return tuple(fd if each == "memfd" else each for each in args)


ALLOWED = [
    pytest.param(profile, rule, name, id=f"{profile.name}-{name}-{index}")
    for profile in PROFILES.values()
    for index, rule in enumerate(profile.rules)
    if rule.action == "SCMP_ACT_ALLOW"
    for name in here(rule)
    if name != "rt_sigreturn"
]


@pytest.mark.parametrize(("profile", "rule", "name"), ALLOWED)
def test_every_allowed_call_works(profile: Profile, rule: SyscallRule, name: str) -> None:
    matching = [
        (args, success)
        for args, success in EXAMPLES[name]
        if holds(rule, tuple(7 if each == "memfd" else each for each in (*args, *[0] * 6)))
    ]
    assert matching, f"{name} is on the list of {profile.name} without an example of a call that works"
    program = compile_profile(profile.name)
    for args, success in matching:
        # a program that lets everything through, for what has to be prepared, then the real one on top
        def body(args: tuple[int | str, ...] = args) -> tuple[int, int] | None:
            ready = prepared(args)
            bpf.install(program)
            return attempt(name, ready)

        outcome = bpf.under(None, body)
        assert not outcome.killed, f"{name}{args} was killed"
        if success == "exit":
            assert outcome.exit_code == 0
            assert outcome.result is None
        elif success in ("ok", "fork"):
            assert outcome.result is not None
            assert outcome.result >= 0, f"{name}{args}: {os.strerror(outcome.errno or 0)}"
        else:
            assert (outcome.result, outcome.errno) == success


@pytest.mark.parametrize("profile", WORKERS)
def test_a_signal_handler_returns(profile: str) -> None:
    heard: list[int] = []

    def body() -> tuple[int, int]:
        signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        bpf.install(compile_profile(profile))
        time.sleep(0.15)  # interrupted by the handler, which returns, and resumed
        return (len(heard), 0)

    outcome = bpf.under(None, body)
    assert (outcome.result, outcome.exit_code) == (1, 0)


# -- what is answered with an error ----------------------------------------------------------------------

DENIED = [
    pytest.param(profile, rule, name, id=f"{profile.name}-{name}-{index}")
    for profile in PROFILES.values()
    for index, rule in enumerate(profile.rules)
    if rule.action == "SCMP_ACT_ERRNO"
    for name in here(rule)
]
#: Arguments that meet the conditions of the rules which have some.
DENIED_ARGS: dict[str, tuple[int, ...]] = {
    "read": (0, 0, 0), "write": (1, 0, 0), "recvmsg": (1, 0, 0), "mmap": (0, PAGE, READ | WRITE, DROPPABLE | ANONYMOUS, -1, 0),
}  # fmt: skip


@pytest.mark.parametrize(("profile", "rule", "name"), DENIED)
def test_every_benign_probe_gets_its_error(profile: Profile, rule: SyscallRule, name: str) -> None:
    args = DENIED_ARGS.get(name, (0,) * 6)
    assert holds(rule, (*args, *[0] * 6))
    outcome = bpf.under(compile_profile(profile.name), lambda: attempt(name, args))
    assert (outcome.result, outcome.errno) == (-1, rule.errno)
    if name not in ("read", "write", "recvmsg"):  # for which descriptor 3 is the control

        def unfiltered() -> tuple[int, int] | None:
            signal.setitimer(signal.ITIMER_REAL, 0.2)  # ppoll and select wait for ever when they are let
            return attempt(name, args)

        control = bpf.under(None, unfiltered)
        assert (control.result, control.errno) != (-1, rule.errno)


# -- everything else kills -------------------------------------------------------------------------------


def known_calls() -> dict[str, int]:
    """Every system call of this machine that libseccomp can name."""
    arch = getattr(pyseccomp.Arch, MACHINE.upper())
    found = {}
    for each in range(1024):
        try:
            found[pyseccomp.resolve_syscall(arch, each).decode()] = each
        except ValueError:
            continue
    return found


KNOWN = known_calls()


def test_the_kernel_interface_is_known() -> None:
    assert len(KNOWN) > 300
    assert {"socket", "execve", "ptrace", "io_uring_setup", "bpf", "mount", "setns", "memfd_create"} <= set(KNOWN)


@pytest.mark.parametrize("profile", WORKERS)
def test_every_call_off_the_list_kills(profile: str) -> None:
    program = compile_profile(profile)
    off = {name: each for name, each in KNOWN.items() if name not in PROFILES[profile].names}
    named = {number(name) for name in PROFILES[profile].names}
    off |= {f"number {each}": each for each in {*range(600), 1000, 0x7FFFFFFF} - named - set(off.values())}
    off = {name: each for name, each in off.items() if each not in EXEMPT.values()}
    survived = [
        name for name, each in off.items() if not bpf.under(program, lambda each=each: bpf.call(each, *(0,) * 6)).killed
    ]
    assert survived == []
    assert len(off) > 500


@pytest.mark.parametrize("profile", WORKERS)
@pytest.mark.parametrize("name", EXEMPT)
def test_what_the_kernel_exempts_from_filters_does_nothing(profile: str, name: str) -> None:
    """Both are for code that the kernel maps where a tracer with privileges put a probe; from anywhere else they end
    with SIGILL, or an error that says so. A kernel that does not exempt them asks the filter, which kills."""
    program = compile_profile(profile)
    assert bpf.verdict(program, EXEMPT[name]) == bpf.KILL_PROCESS
    outcome = bpf.under(program, lambda: bpf.call(EXEMPT[name], *(0,) * 6))
    refused = outcome.result == -1 and outcome.errno in (errno.ENXIO, errno.EPROTO)
    assert outcome.signal in (signal.SIGSYS, signal.SIGILL) or refused, outcome


@pytest.mark.skipif(MACHINE != "x86_64", reason="x32 exists on x86_64 alone")
@pytest.mark.parametrize("profile", WORKERS)
def test_the_x32_interface_kills(profile: str) -> None:
    program = compile_profile(profile)
    assert bpf.under(program, lambda: bpf.call(0x40000000 | number("getpid"))).killed
    assert not bpf.under(program, lambda: bpf.call(number("getpid"))).killed


@pytest.mark.parametrize("profile", WORKERS)
@pytest.mark.parametrize("each", [1, 3, 4, 20, 39, 60, 231])
def test_a_foreign_architecture_kills(profile: str, each: int) -> None:
    assert bpf.verdict(compile_profile(profile, arch="x86_64"), each, (3,), "i386") == bpf.KILL_PROCESS
    assert bpf.verdict(compile_profile(profile, arch="x86_64"), each, (3,), "aarch64") == bpf.KILL_PROCESS
    assert bpf.verdict(compile_profile(profile, arch="aarch64"), each, (3,), "x86_64") == bpf.KILL_PROCESS


# -- arguments -------------------------------------------------------------------------------------------

DANGEROUS_ARGUMENTS = {
    "executable memory": ("mmap", (0, PAGE, READ | WRITE | EXECUTE, PRIVATE | ANONYMOUS, -1, 0)),
    "memory made executable": ("mprotect", (_ADDRESS, PAGE, READ | EXECUTE)),
    "memory that grows as a stack does, which RLIMIT_DATA does not count": (
        "mmap", (0, PAGE, READ | WRITE, PRIVATE | ANONYMOUS | GROWSDOWN, -1, 0)),
    "shared anonymous memory, which RLIMIT_DATA does not count": ("mmap", (0, PAGE, READ, SHARED | ANONYMOUS, -1, 0)),
    "shared writable memory": ("mmap", (0, PAGE, READ | WRITE, SHARED, 3, 0)),
    "huge pages of the host's pool": ("mmap", (0, PAGE, READ | WRITE, PRIVATE | ANONYMOUS | HUGETLB, -1, 0)),
    "MAP_SHARED_VALIDATE": ("mmap", (0, PAGE, READ, 3, 3, 0)),
    "unknown protection bits": ("mprotect", (_ADDRESS, PAGE, READ | 0x01000000)),
    "protection bits above 32": ("mmap", (0, PAGE, READ | 1 << 40, PRIVATE | ANONYMOUS, -1, 0)),
    "growth to an address of the caller's choice": (
        "mremap", (_ADDRESS, PAGE, PAGE, MAY_MOVE | MOVE_FIXED, _ADDRESS + 4 * PAGE)),
    "a mapping moved and kept": ("mremap", (_ADDRESS, PAGE, PAGE, MAY_MOVE | DONT_UNMAP)),
    "growth that may not move": ("mremap", (_ADDRESS, PAGE, PAGE, 0)),
    "flags of mremap above 32 bits": ("mremap", (_ADDRESS, PAGE, PAGE, MAY_MOVE | 1 << 40)),
    "shared memory of a file": ("mmap", (0, PAGE, READ, SHARED, 3, 0)),
    "memory that is filled at once": ("mmap", (0, PAGE, READ | WRITE, PRIVATE | ANONYMOUS | 0x8000, -1, 0)),
    "memory that can be written over what is there, of which RLIMIT_DATA is not asked": (
        "mmap", (_ADDRESS + 12 * PAGE, PAGE, READ | WRITE, PRIVATE | ANONYMOUS | 0x10, -1, 0)),
    "the same, which cannot be read": (
        "mmap", (_ADDRESS + 12 * PAGE, PAGE, WRITE, PRIVATE | ANONYMOUS | 0x10, -1, 0)),
    "locked memory": ("mmap", (0, PAGE, READ | WRITE, PRIVATE | ANONYMOUS | 0x2000, -1, 0)),
    "a message looked at without taking it": ("recvmsg", (3, address(_MESSAGE), 2)),
    "the blocking pool of randomness": ("getrandom", (address(_BYTES), 16, 2)),
    "the CPU clock of another process": ("clock_gettime", ((~1 << 3) | 2, address(_BYTES))),
    "the clock of a device": ("clock_gettime", ((~3 << 3) | 3, address(_BYTES))),
    "a clock of the boot": ("clock_getres", (7, address(_BYTES))),
    "an alarm that wakes the machine": ("clock_nanosleep", (8, 0, address(_SPEC), 0)),
    "the CPU time of ended children": ("getrusage", (-1, address(_BYTES))),
    "a futex that other processes share": ("futex", (address(_WORD), 1, 1)),
    "page merging, a side channel": ("madvise", (_ADDRESS, PAGE, 12)),
    "poisoned memory": ("madvise", (_ADDRESS, PAGE, 100)),
    "priority-inheriting futex": ("futex", (address(_WORD), 6, 0)),
    "requeueing futex": ("futex", (address(_WORD), 11, 0)),
}  # fmt: skip


@pytest.mark.parametrize("protection", [0, READ, WRITE, READ | WRITE])
@pytest.mark.parametrize("profile", WORKERS)
def test_nothing_that_is_there_becomes_writable_nor_read_only(profile: str, protection: int) -> None:
    args = (_ADDRESS, PAGE, protection)
    outcome = bpf.under(compile_profile(profile), lambda: attempt("mprotect", args))
    assert (outcome.result, outcome.errno) == (-1, errno.ENOMEM)


@pytest.mark.parametrize("profile", WORKERS)
@pytest.mark.parametrize("what", DANGEROUS_ARGUMENTS)
def test_a_dangerous_argument_kills(profile: str, what: str) -> None:
    name, args = DANGEROUS_ARGUMENTS[what]
    assert bpf.under(compile_profile(profile), lambda: attempt(name, args)).killed


FORK = 0x1200011


@pytest.mark.parametrize(
    "args",
    [(flags, 0, 0, 0, 0) for flags in (FORK | 0x10000000, 0x3D0F00, 0x1200000, 0x11, 1 << 32 | FORK)]
    + [(FORK, _ADDRESS, 0, 0, 0), (FORK, 0, _ADDRESS, 0, 0)],
    ids=lambda args: "-".join(f"{each:x}" for each in args[:1]) + ("" if not any(args[1:3]) else "-pointer"),
)
def test_a_checkpoint_is_a_plain_fork_and_nothing_else(args: tuple[int, ...]) -> None:
    program = compile_profile("worker-checkpoint")
    assert bpf.under(program, lambda: attempt("clone", args)).killed
    assert bpf.under(compile_profile("worker"), lambda: attempt("clone", (FORK, 0, 0, 0, 0))).killed


INTERESTING = st.one_of(
    st.sampled_from(
        [0, 1, 2, 3, 4, 5, 8, 9, 11, 12, 14, 15, 22, 0x21, 0x22, 0x28, 0x32, 0x122, 0x80, 0x81, 0x89, 0x109, 0x189, 0x40022]
    ),
    st.sampled_from(
        [0x1200011, 0x3D0F00, 2**31, 2**32, 2**32 + 1, 2**32 + 3, 2**63, 2**64 - 1, 2**64 - 4, 0x4022, 0x20022]
    ),
    st.integers(0, 2**64 - 1),
    st.builds(lambda low, high: low | high << 32, st.integers(0, 64), st.integers(0, 3)),
)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("name", WORKERS)
@given(data=st.data())
@settings(max_examples=examples(400), deadline=None)
def test_the_program_says_what_the_file_says(name: str, machine: str, data: st.DataObject) -> None:
    profile, program = PROFILES[name], compile_profile(name, arch=machine)
    call = data.draw(st.sampled_from(sorted(profile.names)))
    args = tuple(data.draw(st.tuples(*[INTERESTING] * 6)))
    if (each := number(call, machine)) >= 0:
        assert bpf.verdict(program, each, args, machine) == expected(profile, call, args)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("name", WORKERS)
@given(each=st.integers(0, 2**32 - 1), args=st.tuples(*[INTERESTING] * 6))
@example(each=0x40000000, args=(3,) * 6)
@settings(max_examples=examples(300), deadline=None)
def test_a_number_off_the_list_kills_on_every_architecture(
    name: str, machine: str, each: int, args: tuple[int, ...]
) -> None:
    on = {number(call, machine) for call in PROFILES[name].names}
    if each not in on:
        assert bpf.verdict(compile_profile(name, arch=machine), each, args, machine) == bpf.KILL_PROCESS


@given(args=st.tuples(*[INTERESTING] * 6))
@settings(max_examples=examples(25), deadline=None)
def test_the_kernel_agrees_with_the_interpreter(args: tuple[int, ...]) -> None:
    program = compile_profile("worker")
    for name in ("read", "write", "futex", "madvise", "mprotect"):
        if bpf.verdict(program, number(name), args) == bpf.KILL_PROCESS:
            assert bpf.under(program, lambda name=name: attempt(name, args)).killed


# -- what the argument filters are for -------------------------------------------------------------------

MEMORY_TRICKS = {
    "grows down": (READ | WRITE, PRIVATE | ANONYMOUS | GROWSDOWN),
    "shared, made writable later": (READ, SHARED | ANONYMOUS),
    "over what is there": (READ | WRITE, PRIVATE | ANONYMOUS | 0x10),
}


@pytest.mark.attack
@pytest.mark.parametrize("trick", MEMORY_TRICKS)
def test_memory_that_rlimit_data_does_not_count_is_refused(trick: str) -> None:
    protection, flags = MEMORY_TRICKS[trick]
    size = 2 * RLIMIT_DATA

    def body() -> tuple[int, int]:
        there = bpf.call(number("mmap"), 0, size, READ, PRIVATE | ANONYMOUS, -1, 0)[0] if flags & 0x10 else 0
        result, error = bpf.call(number("mmap"), there, size, protection, flags, -1, 0)
        if result > 0 and bpf.call(number("mprotect"), result, size, READ | WRITE)[0] == 0:
            for offset in range(0, size, 1 << 21):
                ctypes.c_char.from_address(result + offset).value = 1
            return (1, 0)
        return (result, error)

    control = bpf.under(compile_profile("worker", drop=frozenset({"mmap", "mprotect"})), body, data=RLIMIT_DATA)
    assert control.result == 1, "the trick no longer works without the filter"
    assert bpf.under(compile_profile("worker"), body, data=RLIMIT_DATA).killed


# -- the files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", seccomp_names())
def test_every_rule_says_why(name: str) -> None:
    for rule in read_profile(seccomp_profile(name)).rules:
        assert re.fullmatch(r"[^\n]{15,}\.", rule.comment), f"{name}: {rule.names} has no reason"


@pytest.mark.parametrize("name", seccomp_names())
def test_every_name_is_a_system_call_somewhere(name: str) -> None:
    assert [call for call in read_profile(seccomp_profile(name)).names if number(call) == -1] == []


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_profile_names_each_allowed_call_alone(name: str) -> None:
    assert PROFILES[name].default == "SCMP_ACT_KILL_PROCESS"
    assert [
        rule.names for rule in PROFILES[name].rules if rule.action == "SCMP_ACT_ALLOW" and len(rule.names) > 1
    ] == []


def test_checkpoints_add_what_a_fork_needs_and_nothing_else() -> None:
    plain, forking = PROFILES["worker"], PROFILES["worker-checkpoint"]
    assert forking.names - plain.names == {"clone", "set_robust_list", "dup2", "dup3", "rt_sigprocmask"}
    allowed = {name for rule in forking.rules if rule.action == "SCMP_ACT_ALLOW" for name in rule.names}
    assert "set_robust_list" not in allowed
    assert set(plain.rules) <= set(forking.rules)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("name", WORKERS)
def test_a_program_stays_small(name: str, machine: str) -> None:
    assert 60 < len(compile_profile(name, arch=machine)) // 8 < 200


# -- the compiler ----------------------------------------------------------------------------------------


def test_a_program_is_compiled_once() -> None:
    assert compile_profile("worker") is compile_profile("worker")


def test_dropping_one_call_lets_that_call_through_and_no_other() -> None:
    program = compile_profile("worker", drop=frozenset({"socket", "mmap"}))
    assert bpf.under(program, lambda: attempt("socket", (1, 1, 0))).result is not None
    assert bpf.verdict(program, number("mmap"), (0, PAGE, 7, PRIVATE, -1, 0)) == bpf.ALLOW
    assert bpf.under(program, lambda: attempt("socketpair", (1, 1, 0, 0))).killed


def test_dropping_everything_allows_everything() -> None:
    program = compile_profile("worker", drop=frozenset({"*"}))
    assert {bpf.verdict(program, each) for each in KNOWN.values()} == {bpf.ALLOW}


def write(tmp_path: Path, change) -> Path:
    data = json.loads(seccomp_profile("worker").read_text())
    change(data)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["syscalls"][0].update(names=["raed"]), "does not know the system call 'raed'"),
        (lambda d: d["syscalls"][0].update(action="SCMP_ACT_KILL"), "'SCMP_ACT_KILL' is not allowed"),
        (lambda d: d["syscalls"][0].update(argz=[]), "unknown key 'argz'"),
        (lambda d: d["syscalls"][0]["args"][0].update(op="SCMP_CMP_ABOUT"), "SCMP_CMP_ABOUT"),
        (lambda d: d["syscalls"][0]["args"][0].update(index=6), "argument 6"),
        (lambda d: d["syscalls"][0]["args"].append(d["syscalls"][0]["args"][0]), "two conditions on one argument"),
        (lambda d: d.pop("defaultAction"), "'defaultAction' is missing"),
        (lambda d: d.update(archMap=[]), "has no rules for"),
        (lambda d: d.update(flags=["SECCOMP_FILTER_FLAG_LOG"]), "unknown key 'flags'"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_profile_that_is_not_understood_is_an_error(tmp_path: Path, change, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        assemble(read_profile(write(tmp_path, change)))


def test_an_unknown_profile_or_call_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="worker-checkpoint"):
        compile_profile("wroker")
    with pytest.raises(FileNotFoundError):
        compile_profile("../seccomp/worker")
    with pytest.raises(ValueError, match="does not know the system call 'scoket'"):
        compile_profile("worker", drop=frozenset({"scoket"}))
    with pytest.raises(ValueError, match="no rules for riscv64"):
        compile_profile("worker", arch="riscv64")


def test_a_missing_libseccomp_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyseccomp", None)
    with pytest.raises(EnvironmentUnavailable, match="apt install libseccomp2"):
        assemble(PROFILES["worker"])


# -- the container's profile -----------------------------------------------------------------------------

DOCKER = read_profile(seccomp_profile("docker"))
#: What a process in a container could still harm the host with, if the profile let it.
DANGEROUS = {
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "fsopen", "open_tree", "ptrace",
    "process_vm_readv", "process_vm_writev", "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter",
    "userfaultfd", "keyctl", "add_key", "request_key", "kexec_load", "init_module", "finit_module", "delete_module",
    "reboot", "swapon", "settimeofday", "clock_settime", "sethostname", "open_by_handle_at", "name_to_handle_at",
    "personality", "mknodat", "acct", "quotactl", "syslog", "process_madvise", "mbind", "move_pages", "vmsplice",
}  # fmt: skip


def test_the_container_profile_refuses_every_call_off_its_list() -> None:
    program = compile_profile("docker")
    off = {name: each for name, each in KNOWN.items() if name not in DOCKER.names}
    assert {name for name in DANGEROUS if number(name) >= 0} <= set(off)
    refused = {
        name: bpf.under(program, lambda each=each: bpf.call(each, *(0,) * 6)) for name, each in sorted(off.items())
    }
    allowed = {name for name, outcome in refused.items() if (outcome.result, outcome.errno) != (-1, errno.EPERM)}
    assert allowed == set()
    assert len(off) > 150


@pytest.mark.parametrize(
    ("call", "args", "error"),
    [
        ("clone", (0x10000000 | 0x11, 0, 0, 0, 0), errno.EPERM),
        ("clone", (0x40000000 | 0x11, 0, 0, 0, 0), errno.EPERM),
        ("clone3", (0, 0), errno.ENOSYS),
        ("socket", (16, 3, 0), errno.EPERM),
        ("socket", (40, 1, 0), errno.EPERM),
        ("socketpair", (2, 1, 0, address(_BYTES)), errno.EPERM),
    ],
)
def test_the_container_profile_filters_arguments(call: str, args: tuple[int, ...], error: int) -> None:
    outcome = bpf.under(compile_profile("docker"), lambda: attempt(call, args))
    assert (outcome.result, outcome.errno) == (-1, error)


def test_python_works_under_the_container_profile() -> None:
    script = (
        "import asyncio, os, socket, subprocess, sys, tempfile, threading\n"
        "thread = threading.Thread(target=print); thread.start(); thread.join()\n"
        "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
        "asyncio.run(asyncio.sleep(0.01))\n"
        "assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\\n'\n"
        "with tempfile.TemporaryDirectory() as folder: open(f'{folder}/x', 'w').write('x')\n"
        "socket.create_server(('127.0.0.1', 0)).close()\n"
        "print('fine')\n"
    )
    program = compile_profile("docker")
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, preexec_fn=lambda: bpf.install(program)
    )
    assert done.stdout.split() == ["fine"], done.stderr


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_the_container_program_says_what_the_file_says(machine: str, data: st.DataObject) -> None:
    call = data.draw(st.sampled_from(sorted(DOCKER.names)))
    args = tuple(data.draw(st.tuples(*[INTERESTING] * 6)))
    if (each := number(call, machine)) >= 0:
        verdict = expected(DOCKER, call, args)
        if verdict == bpf.KILL_PROCESS:
            verdict = bpf.ERRNO | DOCKER.default_errno
        assert bpf.verdict(compile_profile("docker", arch=machine), each, args, machine) == verdict
