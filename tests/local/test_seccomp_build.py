"""Filters that libseccomp does not build, and machines whose libseccomp is an older one."""

from __future__ import annotations

import ctypes.util
from types import SimpleNamespace
from typing import Any

import pyseccomp
import pytest

from rlm_secure.environments import seccomp
from rlm_secure.environments.seccomp import Profile, SyscallRule, assemble, compile_profile
from rlm_secure.errors import EnvironmentUnavailable

ARCHS = tuple(seccomp.MACHINES.values())


def test_a_rule_that_libseccomp_refuses_is_named() -> None:
    twice = Profile("twice", "SCMP_ACT_ERRNO", 1, ARCHS, (SyscallRule(("read",), "SCMP_ACT_ERRNO", 1, (), ""),))
    with pytest.raises(ValueError, match="libseccomp refuses the rule for read in the seccomp profile twice"):
        assemble(twice)


def test_a_call_that_this_machine_does_not_have_is_nothing_to_let_through() -> None:
    assert compile_profile("worker", drop=frozenset({"socketcall"})) == compile_profile("worker")


@pytest.mark.parametrize("code", [b"", b"x" * 7, b"x" * 40_000])
def test_what_is_no_program_is_no_filter(code: bytes) -> None:
    program = SimpleNamespace(export_bpf=lambda sink: sink.write(code))
    with pytest.raises(ValueError, match=f"exported {len(code)} bytes, which is no BPF program"):
        seccomp._exported(program)


class _Before25(pyseccomp.SyscallFilter):
    """libseccomp before 2.5, which knows no binary tree."""

    def set_attr(self, attr: Any, value: int) -> None:
        if (attr, value) == (pyseccomp.Attr.CTL_OPTIMIZE, 2):
            raise OSError(22, "Invalid argument")
        super().set_attr(attr, value)


def test_an_older_libseccomp_builds_the_same_filter_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    now = compile_profile("worker")
    monkeypatch.setattr(pyseccomp, "SyscallFilter", _Before25)
    before = compile_profile.__wrapped__("worker")
    assert before != now and len(before) % 8 == 0


def test_where_the_loader_finds_no_library_ctypes_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    search = ctypes.util.find_library
    with seccomp._found_by_the_loader():
        assert ctypes.util.find_library("seccomp") == seccomp._LIBRARY and ctypes.util.find_library("c") is None
    monkeypatch.setattr(seccomp, "_LIBRARY", "libnowhere.so.2")
    with seccomp._found_by_the_loader():
        assert ctypes.util.find_library is search


def test_a_kernel_that_kills_no_process_builds_no_filter() -> None:
    def emulated(_default: int) -> None:
        raise OSError(22, "Invalid argument")

    with pytest.raises(EnvironmentUnavailable, match=r"does not kill a process by seccomp \(Invalid argument\)"):
        seccomp._filter(SimpleNamespace(SyscallFilter=emulated), 0, 0)
