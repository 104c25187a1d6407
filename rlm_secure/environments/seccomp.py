"""Seccomp profiles: the JSON files of policies/seccomp, and their BPF programs.

The files are in the OCI format, so that one file serves the local walls, `docker run --security-opt seccomp=`
and a reviewer. An unknown system call or key is an error, never ignored: the kernel enforces exactly what the file
says.

Guards: the programs of the system call filters
"""

from __future__ import annotations

import contextlib
import ctypes.util
import functools
import json
import os
import platform
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.resources import seccomp_profile

#: Machine, as os.uname() names it -> architecture, as an OCI profile names it.
MACHINES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
#: OCI's comparisons -> libseccomp's, without their prefixes.
_COMPARISONS = {f"SCMP_CMP_{name}": name for name in ("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ")}
_ACTIONS = ("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_LOG")
_RULE_KEYS = {"names", "action", "errnoRet", "args", "includes", "excludes", "comment"}
_PROFILE_KEYS = {"defaultAction", "defaultErrnoRet", "archMap", "syscalls"}
_EPERM = 1
_BYTES_MAX = 4096 * 8  # the kernel's BPF_MAXINSNS


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition on an argument register, over all of its 64 bits.

    `op` is libseccomp's name. For MASKED_EQ `value` is the mask and `other` what the masked register must equal.
    """

    index: int
    op: str
    value: int
    other: int = 0


@dataclass(frozen=True, slots=True)
class SyscallRule:
    """The action for some system calls when all of `args` match. Only SCMP_ACT_ERRNO uses `errno`."""

    names: tuple[str, ...]
    action: str
    errno: int
    args: tuple[Comparison, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile file. `archs` are OCI architecture names; `default` is the action for calls without a rule."""

    name: str
    default: str
    default_errno: int
    archs: tuple[str, ...]
    rules: tuple[SyscallRule, ...]

    @property
    def names(self) -> frozenset[str]:
        """Every system call that a rule names."""
        return frozenset(name for rule in self.rules for name in rule.names)


def read_profile(path: Path) -> Profile:
    """Parse an OCI seccomp profile. Raises ValueError, one sentence, for anything unknown."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _profile(path.stem, data)
    except (KeyError, TypeError, ValueError) as error:
        what = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path}: {what}; the format is OCI's linux.seccomp, as Docker reads it") from error


def _profile(name: str, data: Any) -> Profile:
    _only(data, _PROFILE_KEYS, "the profile")
    return Profile(
        name=name,
        default=_action(data["defaultAction"]),
        default_errno=int(data.get("defaultErrnoRet", _EPERM)),
        archs=tuple(entry["architecture"] for entry in data["archMap"]),
        rules=tuple(_rule(entry) for entry in data["syscalls"]),
    )


def _rule(data: Any) -> SyscallRule:
    where = f"the rule for {', '.join(data['names'][:3])}"
    _only(data, _RULE_KEYS, where)
    args = tuple(_comparison(entry, where) for entry in data.get("args", ()))
    if len({each.index for each in args}) != len(args):
        # runc reads two conditions on one register as "or", libseccomp refuses them.
        raise ValueError(f"{where} has two conditions on one argument; write two rules")
    return SyscallRule(
        names=tuple(data["names"]),
        action=_action(data["action"]),
        errno=int(data.get("errnoRet", _EPERM)),
        args=args,
        comment=data.get("comment", ""),
    )


def _comparison(data: Any, where: str) -> Comparison:
    _only(data, {"index", "value", "valueTwo", "op"}, f"an argument of {where}")
    if data["op"] not in _COMPARISONS or not 0 <= data["index"] <= 5:
        raise ValueError(f"{where} compares argument {data['index']} with {data['op']}; use 0 to 5 and SCMP_CMP_*")
    return Comparison(data["index"], _COMPARISONS[data["op"]], data["value"], data.get("valueTwo", 0))


def _action(name: str) -> str:
    if name not in _ACTIONS:
        # SCMP_ACT_KILL ends one thread only, and TRAP sends a signal that the filtered code can handle.
        raise ValueError(f"the action {name!r} is not allowed; use one of {', '.join(_ACTIONS)}")
    return name


def _only(data: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(data) - known):
        raise ValueError(f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


@functools.cache
def compile_profile(name: str, *, arch: str | None = None, drop: frozenset[str] = frozenset()) -> bytes:
    """The BPF program of the shipped profile `name`, 8 bytes an instruction; compiled once per process.

    `arch` is a machine as os.uname() names it, by default this one. `drop` names system calls that the program
    allows despite the profile, "*" for all: for tests that remove one wall.
    Raises FileNotFoundError for an unknown profile, ValueError for a bad one or one without `arch`, and
    EnvironmentUnavailable where libseccomp is missing.
    """
    return assemble(read_profile(seccomp_profile(name)), arch=arch, drop=drop)


def assemble(profile: Profile, *, arch: str | None = None, drop: frozenset[str] = frozenset()) -> bytes:
    """compile_profile for a profile that was read from elsewhere; not cached."""
    machine = arch or platform.machine()
    if MACHINES.get(machine) not in profile.archs:
        raise ValueError(
            f"the seccomp profile {profile.name} has no rules for {machine}; it has {', '.join(profile.archs)}"
        )
    library = _libseccomp()
    target = getattr(library.Arch, machine.upper())
    if "*" in drop:
        return _exported(_filter(library, library.ALLOW, target))
    program = _filter(library, _number(library, profile.default, profile.default_errno), target)
    for rule in profile.rules:
        action = _number(library, rule.action, rule.errno)
        conditions = [library.Arg(c.index, getattr(library, c.op), c.value, c.other) for c in rule.args]
        for call in rule.names:
            if call not in drop and _exists(library, call, target):
                _add(program, action, call, conditions, profile.name)
    for call in sorted(drop):
        if _exists(library, call, target):
            _add(program, library.ALLOW, call, [], profile.name)
    return _exported(program)


def _libseccomp() -> ModuleType:
    try:
        with _found_by_the_loader():
            import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise EnvironmentUnavailable(
            f"the seccomp wall cannot be built: {error}; install libseccomp (apt install libseccomp2, dnf install "
            "libseccomp) and pyseccomp (pip install pyseccomp)"
        ) from error
    module: ModuleType = pyseccomp
    return module


_LIBRARY = "libseccomp.so.2"
_importing = threading.Lock()


@contextlib.contextmanager
def _found_by_the_loader() -> Iterator[None]:
    """While pyseccomp is imported, find libseccomp through the dynamic loader, not through ctypes.util.

    ctypes.util starts ldconfig and a compiler, takes 10 ms, and finds nothing on a machine that has neither
    /etc/ld.so.cache nor a compiler. It is still used where the loader finds nothing.
    """
    with _importing:
        search = ctypes.util.find_library
        try:
            ctypes.CDLL(_LIBRARY)
        except OSError:
            yield
            return
        ctypes.util.find_library = lambda name: _LIBRARY if name == "seccomp" else None
        try:
            yield
        finally:
            ctypes.util.find_library = search


def _filter(library: Any, default: int, target: int) -> Any:
    try:
        program = library.SyscallFilter(default)
    except OSError as error:  # libseccomp asks the kernel which actions it has
        raise EnvironmentUnavailable(
            f"the seccomp wall cannot be built: this kernel does not kill a process by seccomp ({error.strerror}), as "
            "where programs are emulated (qemu-user); run it on Linux 4.14 or newer, on a machine of its own kind"
        ) from error
    if library.system_arch() != target:
        program.add_arch(target)
        program.remove_arch(library.system_arch())
    # i386 and x32 calls on x86_64 have other numbers: they never reach a rule.
    program.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    try:
        program.set_attr(library.Attr.CTL_OPTIMIZE, 2)  # a binary tree instead of a chain
    except OSError:
        program.set_attr(library.Attr.CTL_OPTIMIZE, 1)  # libseccomp before 2.5: the same filter, slower
    return program


def _number(library: Any, action: str, errno: int) -> int:
    if action == "SCMP_ACT_ERRNO":
        return int(library.ERRNO(errno))
    return int(getattr(library, action.removeprefix("SCMP_ACT_")))


def _exists(library: Any, call: str, target: int) -> bool:
    """Whether `target` has the system call. Raises ValueError for a name unknown to libseccomp, which returns -1."""
    number = library.resolve_syscall(target, call)
    if number == -1:
        raise ValueError(
            f"libseccomp does not know the system call {call[:80]!r}; check its spelling or update libseccomp"
        )
    return bool(number >= 0)


def _add(program: Any, action: int, call: str, conditions: list[Any], profile: str) -> None:
    try:
        program.add_rule(action, call, *conditions)
    except OSError as error:
        raise ValueError(f"libseccomp refuses the rule for {call} in the seccomp profile {profile}: {error}") from error


def _exported(program: Any) -> bytes:
    # A pipe, which holds 64 KiB, and not a memfd, which RLIMIT_FSIZE limits as it does files.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # read only afterwards: a program that does not fit must fail, not block
    with os.fdopen(reader, "rb") as source:
        with os.fdopen(writer, "wb") as sink:
            program.export_bpf(sink)
        code = source.read()
    if not code or len(code) % 8 or len(code) > _BYTES_MAX:
        raise ValueError(f"libseccomp exported {len(code)} bytes, which is no BPF program")
    return code
