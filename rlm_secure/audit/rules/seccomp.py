"""Rules on seccomp profiles in the JSON format of OCI and Docker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.document import Document
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee

_LETS_THROUGH = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_TRACE", "SCMP_ACT_NOTIFY")
#: If allowed without a condition, each of these enables an escape, or access to the kernel's weakest parts.
_DANGEROUS = {
    "tracing another process": ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"),
    "changing mounts": ("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig",
                        "mount_setattr", "chroot"),
    "new namespaces": ("unshare", "setns", "clone3"),
    "programs in the kernel": ("bpf", "init_module", "finit_module", "kexec_load", "kexec_file_load", "create_module"),
    "files by handle, past their paths": ("open_by_handle_at", "name_to_handle_at"),
    "interfaces that kernel bugs live in": ("io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
                                            "perf_event_open", "keyctl", "add_key", "request_key", "vmsplice"),
    "the machine itself": ("reboot", "swapon", "swapoff", "iopl", "ioperm", "settimeofday", "clock_settime", "acct"),
}  # fmt: skip
_WHY = {name: why for why, names in _DANGEROUS.items() for name in names}


def _entries(subject: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    value = subject.value
    entries = value.get("syscalls") if isinstance(value, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, dict):
            yield index, entry


def _names(entry: dict[str, Any]) -> list[str]:
    names = entry.get("names", [entry["name"]] if "name" in entry else [])
    return [str(each) for each in names] if isinstance(names, list) else []


class SeccompDefault(Rule[Document]):
    """A profile allows system calls that it does not name.

    New kernels add system calls. A list of forbidden calls is then incomplete; a list of allowed calls is not.

    Bad:
        {"defaultAction": "SCMP_ACT_ALLOW", "archMap": [{"architecture": "SCMP_ARCH_X86_64"}], "syscalls": []}

    Good:
        {"defaultAction": "SCMP_ACT_KILL_PROCESS", "archMap": [{"architecture": "SCMP_ARCH_X86_64"}], "syscalls": []}

    See:
        policies/seccomp/worker.json
    """

    id = "seccomp-default"
    kind = Kind.SECCOMP
    severity = Severity.CRITICAL
    weakens = (Guarantee.NO_EXEC, Guarantee.NO_NETWORK, Guarantee.NO_HOST_FILES, Guarantee.HOST_INTEGRITY)
    hint = "use SCMP_ACT_KILL_PROCESS or SCMP_ACT_ERRNO, and name what is allowed"

    def check(self, subject: Document) -> Iterator[Finding]:
        value = subject.value if isinstance(subject.value, dict) else {}
        action = value.get("defaultAction")
        if not isinstance(action, str) or action in _LETS_THROUGH:
            said = f"is {action}" if isinstance(action, str) else "is missing"
            yield self.finding(subject.at("defaultAction"), f"defaultAction {said}"[:100], about="defaultAction")


class SeccompDangerousCall(Rule[Document]):
    """A profile allows a system call that is used for escapes, without a condition.

    Escapes use tracing, mounting, namespaces, kernel programs and io_uring. No computation needs any of them.

    Bad:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["read", "ptrace"], "action": "SCMP_ACT_ALLOW", "comment": "debugging"}]
        }

    Good:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW", "comment": "frames"}]
        }

    See:
        https://docs.docker.com/engine/security/seccomp/
    """

    id = "seccomp-dangerous-call"
    kind = Kind.SECCOMP
    severity = Severity.HIGH
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.SESSION_ISOLATION)
    hint = "take it out, or allow it with arguments that make it harmless"

    def check(self, subject: Document) -> Iterator[Finding]:
        for index, entry in _entries(subject):
            # Docker's format ties some entries to capabilities: they do not apply to a container without these.
            conditional = entry.get("args") or (entry.get("includes") or {}).get("caps")
            if entry.get("action") not in _LETS_THROUGH or conditional:
                continue
            for position, name in enumerate(_names(entry)):
                if name in _WHY:
                    place = subject.at("syscalls", index, "names", position)
                    yield self.finding(place, f"{name} is allowed: {_WHY[name]}", about=name)


class SeccompUnexplained(Rule[Document]):
    """An entry of a profile has no comment.

    To decide whether a call can be removed, one must know why it was added. Firecracker's profiles say it for each.

    Bad:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]
        }

    Good:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW", "comment": "frames on descriptor 3"}]
        }

    See:
        https://github.com/firecracker-microvm/firecracker/blob/main/docs/seccomp.md
    """

    id = "seccomp-unexplained"
    kind = Kind.SECCOMP
    severity = Severity.LOW
    hint = 'add "comment": what needs these calls'

    def check(self, subject: Document) -> Iterator[Finding]:
        for index, entry in _entries(subject):
            if not str(entry.get("comment") or "").strip():
                names = ", ".join(_names(entry)[:4])[:80]
                message = f"the entry for {names or 'no call'} has no comment"
                yield self.finding(subject.at("syscalls", index), message, about=f"syscalls {names}")


class SeccompArchitecture(Rule[Document]):
    """A profile does not name its architectures.

    System calls have other numbers on another architecture, and an x86-64 process can make 32-bit calls. A filter
    that does not check the architecture can be bypassed with them.

    Bad:
        {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []}

    Good:
        {"defaultAction": "SCMP_ACT_ERRNO", "archMap": [{"architecture": "SCMP_ARCH_X86_64"}], "syscalls": []}

    See:
        man 2 seccomp, section CAVEATS
    """

    id = "seccomp-architecture"
    kind = Kind.SECCOMP
    weakens = (Guarantee.NO_EXEC,)
    hint = "add archMap with the architectures that are meant, and no subArchitectures"

    def check(self, subject: Document) -> Iterator[Finding]:
        value = subject.value if isinstance(subject.value, dict) else {}
        if not value.get("archMap") and not value.get("architectures"):
            yield self.finding(subject.at(), "there is neither archMap nor architectures", about="archMap")


class SeccompSilentAction(Rule[Document]):
    """A profile uses an action that neither refuses a call nor allows it explicitly.

    SCMP_ACT_LOG allows a call and logs it; SCMP_ACT_TRACE and SCMP_ACT_NOTIFY leave the decision to another process,
    which reads arguments that may change meanwhile.

    Bad:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["openat"], "action": "SCMP_ACT_LOG", "comment": "see who opens files"}]
        }

    Good:
        {
          "defaultAction": "SCMP_ACT_ERRNO",
          "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
          "syscalls": [{"names": ["openat"], "action": "SCMP_ACT_KILL_PROCESS", "comment": "nobody opens files"}]
        }

    See:
        man 2 seccomp_unotify
    """

    id = "seccomp-silent-action"
    kind = Kind.SECCOMP
    weakens = (Guarantee.NO_HOST_FILES, Guarantee.NO_NETWORK)
    hint = "decide: SCMP_ACT_ALLOW with a comment, or SCMP_ACT_KILL_PROCESS"

    def check(self, subject: Document) -> Iterator[Finding]:
        for index, entry in _entries(subject):
            action = entry.get("action")
            if action in _LETS_THROUGH and action != "SCMP_ACT_ALLOW":
                names = ", ".join(_names(entry)[:4])[:80]
                place = subject.at("syscalls", index, "action")
                yield self.finding(place, f"the action for {names} is {action}", about=f"syscalls {names}")


RULES = (SeccompDefault, SeccompDangerousCall, SeccompUnexplained, SeccompArchitecture, SeccompSilentAction)
