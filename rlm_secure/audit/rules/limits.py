"""Policy rules on limits that are too loose to be useful."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee
from rlm_secure.policy.complaint import shown
from rlm_secure.policy.keys import value
from rlm_secure.policy.model import GIB, MIB


class LimitRule(Rule[PolicySubject]):
    """Base of the rules that compare keys with the largest value that is not a finding."""

    kind = Kind.POLICY
    most: ClassVar[tuple[tuple[str, float], ...]]

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for key, most in self.most:
            actual = value(subject.policy, key)
            if actual > most:
                message = f"{key} is {actual:,}; more than {most:,} bounds little"
                yield self.finding(subject.at(key), message, about=key)


class WeakCellTime(LimitRule):
    """A cell may run for more than 15 minutes.

    A cell that was written to waste time does so until this limit. The model waits for it, the run's time passes, and
    one CPU is busy meanwhile. Work that takes longer belongs in several cells: state persists between them.

    Bad:
        [limits]
        cell_seconds = 7200.0

    Good:
        [limits]
        cell_seconds = 120.0

    See:
        threat-model.md, claim bounded-time
    """

    id = "weak-cell-time"
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower it to what the slowest honest cell takes, with some room: strict has 30 seconds"
    most = (("limits.cell_seconds", 900.0), ("limits.cell_cpu_seconds", 900.0))


class WeakForks(LimitRule):
    """A session may have more than 256 copies at a time.

    Each copy is a process with the limits of its session, and memory of its own for whatever it changes: the machine
    must bear all of them together.

    Bad:
        [limits]
        forks = 4096

    Good:
        [limits]
        forks = 64

    See:
        threat-model.md, claim bounded-memory
    """

    id = "weak-forks"
    severity = Severity.MEDIUM
    weakens = (Guarantee.BOUNDED_MEMORY, Guarantee.BOUNDED_PROCESSES)
    hint = "lower it to the number of copies that live at the same time, with some room"
    most = (("limits.forks", 256.0),)


class WeakSessionTime(LimitRule):
    """A session may use more than four hours of CPU.

    RLIMIT_CPU is the last limit on a worker whose cells are short and whose session is long. If it is many hours, the
    time limit of the run always ends the session first.

    Bad:
        [limits]
        session_cpu_seconds = 86400.0

    Good:
        [limits]
        session_cpu_seconds = 1800.0

    See:
        man 2 setrlimit, RLIMIT_CPU
    """

    id = "weak-session-time"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower limits.session_cpu_seconds; strict has 300"
    most = (("limits.session_cpu_seconds", 14_400.0),)


class WeakRunTime(LimitRule):
    """A run may take more than twelve hours.

    The time limit of a run ends a loop of model calls that never finds an answer. A run whose answer is no longer
    needed still costs money with every turn.

    Bad:
        [limits]
        run_seconds = 86400.0

    Good:
        [limits]
        run_seconds = 3600.0

    See:
        threat-model.md, claim bounded-spend
    """

    id = "weak-run-time"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME, Guarantee.BOUNDED_SPEND)
    hint = "lower limits.run_seconds to the time that somebody waits for an answer"
    most = (("limits.run_seconds", 43_200.0),)


class WeakMemory(LimitRule):
    """A session may take more than 16 GiB of private memory.

    The limit applies to each session, and sessions run in parallel: children of a run, and prestarted sessions. All of
    them together must fit into the machine's memory, or the kernel may kill the host.

    Bad:
        [limits]
        memory_bytes = 68_719_476_736

    Good:
        [limits]
        memory_bytes = 2_147_483_648

    See:
        threat-model.md, claim bounded-memory
    """

    id = "weak-memory"
    weakens = (Guarantee.BOUNDED_MEMORY, Guarantee.HOST_INTEGRITY)
    hint = "lower limits.memory_bytes; the context does not count, it is shared and not copied"
    most = (("limits.memory_bytes", 16 * GIB),)


class WeakOutput(LimitRule):
    """A cell may send the host more output than a model can read.

    The host keeps a cell's output and result in memory, decodes them, logs them, and shows them to the model. A
    hostile worker can make the host hold as many bytes as these limits allow.

    Bad:
        [limits]
        stdout_bytes = 268_435_456

    Good:
        [limits]
        stdout_bytes = 1_048_576

    See:
        threat-model.md, claim bounded-output
    """

    id = "weak-output"
    weakens = (Guarantee.BOUNDED_OUTPUT, Guarantee.HOST_INTEGRITY)
    hint = "lower it; a model reads thousands of characters of output, not millions"
    most = (("limits.stdout_bytes", 16 * MIB), ("limits.result_bytes", 128 * MIB), ("limits.value_bytes", 16 * MIB))


class WeakKept(LimitRule):
    """A run may keep more than 4 GiB of records, or write more than 16 GiB of log.

    A cell decides how much is kept: it writes the prompts of its calls and prints its output. It can make the host
    hold in memory, or write to disk, as many bytes as these limits allow.

    Bad:
        [limits]
        kept_bytes = 68_719_476_736

    Good:
        [limits]
        kept_bytes = 268_435_456

    See:
        threat-model.md, claim host-integrity
    """

    id = "weak-kept"
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "lower it; strict keeps 256 MiB, and logs as much"
    most = (("limits.kept_bytes", 4 * GIB), ("data.log_bytes", 16 * GIB))


class WeakOpenFiles(LimitRule):
    """A worker may hold more than 64 descriptors.

    A sealed worker needs its channel and a few memory files for contexts. More descriptors only help an attacker whom
    a kernel bug lets open files.

    Bad:
        [limits]
        open_files = 1024

    Good:
        [limits]
        open_files = 16

    See:
        man 2 setrlimit, RLIMIT_NOFILE
    """

    id = "weak-open-files"
    severity = Severity.LOW
    weakens = (Guarantee.NO_HOST_FILES,)
    hint = "lower limits.open_files; strict has 16"
    most = (("limits.open_files", 64),)


class WeakGrace(LimitRule):
    """A cell whose time is over may run for more than five further seconds.

    A cell can delay the first interrupt by staying inside one long call. Only the kill after the grace time always
    ends it.

    Bad:
        [limits]
        grace_seconds = 60.0

    Good:
        [limits]
        grace_seconds = 0.5

    See:
        threat-model.md, claim bounded-time
    """

    id = "weak-grace"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower limits.grace_seconds; strict has 0.5"
    most = (("limits.grace_seconds", 5.0),)


class WeakSource(LimitRule):
    """A cell's source may be larger than is safe to compile.

    Compiling a crafted text takes disproportionate time and memory. Cells that a model writes have a few thousand
    characters.

    Bad:
        [language]
        source_bytes = 67_108_864

    Good:
        [language]
        source_bytes = 262_144

    See:
        https://github.com/python/cpython/issues/89455
    """

    id = "weak-source"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME, Guarantee.BOUNDED_MEMORY)
    hint = "lower it, and give data as context instead of as source"
    most = (("language.source_bytes", 4 * MIB), ("language.ast_nodes", 1_000_000))


class WeakCells(LimitRule):
    """A session may run more than 100,000 cells.

    State accumulates in a session, and so do the attempts of an attacker. Ending the session removes both.

    Bad:
        [limits]
        cells = 10_000_000

    Good:
        [limits]
        cells = 1_000

    See:
        threat-model.md, claim session-isolation
    """

    id = "weak-cells"
    severity = Severity.LOW
    weakens = (Guarantee.SESSION_ISOLATION,)
    hint = "lower limits.cells; strict has 1,000"
    most = (("limits.cells", 100_000),)


class WeakResumes(LimitRule):
    """A session may be resumed after more than 20 kills.

    Each resume gives the killed code another attempt from the same state. An honest session is killed by accident
    once or twice.

    Bad:
        [limits]
        resumes = 1_000

    Good:
        [limits]
        resumes = 3

    See:
        threat-model.md, section 3
    """

    id = "weak-resumes"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower limits.resumes; strict has 3"
    most = (("limits.resumes", 20),)


class WeakTools(LimitRule):
    """A cell may call tools for too long, or too often.

    A tool runs on the host, with the host's rights. One that hangs is abandoned after limits.tool_seconds, and holds
    a thread and its data until it ends, if it ever does.

    Bad:
        [limits]
        tool_seconds = 36000.0
        abandoned_calls = 100_000

    Good:
        [limits]
        tool_seconds = 60.0
        abandoned_calls = 16

    See:
        threat-model.md, claim bounded-time
    """

    id = "weak-tools"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME, Guarantee.HOST_INTEGRITY)
    hint = "lower it to what the slowest honest tool takes: strict has 60 seconds, 10,000 calls, 16 left behind"
    most = (("limits.tool_seconds", 3600.0), ("limits.tool_calls", 1_000_000), ("limits.abandoned_calls", 256))


class LimitWithoutEffect(Rule[PolicySubject]):
    """A limit has no effect, because a lower one always applies first.

    It misleads the reader: the policy seems to give a cell an hour, but its run ends after ten minutes. Limits that
    contradict each other usually mean an error in one of them.

    Bad:
        [limits]
        cell_seconds = 800.0
        run_seconds = 600.0

    Good:
        [limits]
        cell_seconds = 60.0
        run_seconds = 600.0

    See:
        rlm-secure policy show FILE
    """

    id = "limit-without-effect"
    kind = Kind.POLICY
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower the first, or raise the second on purpose"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for key, other in (
            ("limits.cell_seconds", "limits.run_seconds"),
            ("limits.cell_cpu_seconds", "limits.session_cpu_seconds"),
            ("limits.value_bytes", "limits.result_bytes"),
            ("limits.stdout_bytes", "limits.result_bytes"),
            ("limits.grace_seconds", "limits.cell_seconds"),
            ("lm.timeout_seconds", "limits.run_seconds"),
            ("limits.tool_seconds", "limits.run_seconds"),
            ("lm.prompt_bytes", "limits.result_bytes"),
        ):
            actual, bound = value(subject.policy, key), value(subject.policy, other)
            if actual > bound:
                place = subject.at(key)
                if subject.loaded and key not in subject.loaded.origins:
                    place = subject.at(other)  # point to the limit that is written in a file, not to a default
                message = f"{key} is {shown(actual)}, but {other} ends everything at {shown(bound)}"
                yield self.finding(place, message, about=key)


RULES = (
    WeakCellTime, WeakSessionTime, WeakRunTime, WeakMemory, WeakOutput, WeakKept, WeakOpenFiles, WeakGrace, WeakSource,
    WeakCells, WeakResumes, WeakForks, WeakTools, LimitWithoutEffect,
)  # fmt: skip
