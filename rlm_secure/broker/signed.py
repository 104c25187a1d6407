"""The only decoder of a supervisor's answers, except its worker's frames: each becomes a value of known types.

A signature proves the sender, not the content: a supervisor may have been taken over by the code that it runs. Any
JSON object gives a value, or ProtocolViolation, and nothing else. Words are from closed lists, numbers finite and in
range, texts short and inert, lists short. A wrong fact of a sandbox about itself (`Around`) is never a violation: one
of the wrong type counts as not reported, and proves no wall.

Guards: what a signed answer may contain: known words, numbers in range, short texts
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from rlm_secure.broker.protocol import Call, Findings, event, findings
from rlm_secure.errors import ProtocolViolation
from rlm_secure.inert import excerpt

#: Most events that wait at once: one of the worker, and 64 calls from programs in the sandbox (`/enqueue`).
MAX_EVENTS: Final = 1 + 64

_MOST: Final = 2**63
#: More CPU seconds than a worker can have used.
_LONGEST_SECONDS: Final = 1e9
_TEXT: Final = 300
_ITEMS: Final = 1024
_RULE: Final = re.compile(r"[a-z]{1,16}(?:-[a-z]{1,16}){0,2}")

WorkerState = Literal["none", "busy", "idle"]
Stopped = Literal["interrupt", "cpu", "session-cpu", "memory"]
_STATES: Final = frozenset({"none", "busy", "idle"})
_STOPPED: Final = frozenset({"interrupt", "cpu", "session-cpu", "memory"})


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker's last event. `status` is its wait status where known; `said` is why the supervisor ended it, if it
    did; `stopped` is why the supervisor interrupted it."""

    status: int | None
    cpu_seconds: float
    oom_kills: int | None
    said: str | None
    stopped: Stopped | None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the worker, still encoded; protocol.decode decodes it."""

    id: str
    data: bytes
    stopped: Stopped | None
    cpu_seconds: float | None
    """CPU seconds of the worker since its request, as the supervisor measured them; None where it could not."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a program in the sandbox made over HTTP (`POST /enqueue`)."""

    id: str
    call: Call


@dataclass(frozen=True, slots=True)
class Events:
    """The events that wait at the broker."""

    worker: WorkerState
    frame: Frame | None = None
    ended: Ended | None = None
    asked: tuple[Asked, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return self.frame is None and self.ended is None and not self.asked


@dataclass(frozen=True, slots=True)
class Around:
    """What a supervisor found by trying what its sandbox allows; None, or empty, for what it did not report.

    `connect` is the outcome of connecting to each address, `write_root` and `write_sysctl` of writing there: "won",
    "timeout", or the name of an error. `memory_max` and `pids_max` are the text of the cgroup's files. `worker_uids`
    are the worker's real, effective, saved and file system uid, `uids` the supervisor's first three. `limits` are those
    of each process, by name, without the unlimited ones. `tried` are the outcomes of a sealed supervisor's attempts.
    """

    uid: int | None = None
    capabilities: str | None = None
    bounding: str | None = None
    no_new_privs: int | None = None
    seccomp: int | None = None
    kernel: str | None = None
    interfaces: tuple[str, ...] | None = None
    connect: Mapping[str, str] | None = None
    write_root: str | None = None
    write_sysctl: str | None = None
    memory_max: str | None = None
    pids_max: str | None = None
    cgroup_namespace: str | None = None
    apparmor: str | None = None
    unmasked: tuple[str, ...] | None = None
    writable: tuple[str, ...] | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    uids: tuple[int, ...] = ()
    worker_uids: tuple[int, ...] = ()
    tried: Mapping[str, str] = field(default_factory=dict)

    @property
    def memory_bytes(self) -> int | None:
        """The cgroup's memory limit; None where there is none, or it is unknown."""
        return _number(self.memory_max)

    @property
    def processes(self) -> int | None:
        """The cgroup's limit of processes; None where there is none, or it is unknown."""
        return _number(self.pids_max)


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to `POST /session`: the zygote's walls, facts for the report, and the supervisor's findings."""

    walls: Findings
    details: Mapping[str, str | bool]
    around: Around


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the supervisor refused a request: `rule` is an id, `text` a sentence."""

    rule: str
    text: str


# -- answers ---------------------------------------------------------------------------------------------------


def refused(message: Mapping[str, Any]) -> int:
    """How many requests, from any sender, the supervisor has refused so far; 0 where the answer does not say."""
    told = message.get("refused", 0)
    counts = list(told.values()) if isinstance(told, dict) else [told]  # by rule, in the answer to /health
    known = [count for each in counts if (count := _count(each)) is not None]
    if len(known) < len(counts):
        raise _broken("a number of refusals is none")
    return min(sum(known), _MOST - 1)


def refusal(message: Mapping[str, Any]) -> Refusal:
    """The refusal in an answer whose status is not 200."""
    rule, text = message.get("rule"), message.get("error", "")
    if not isinstance(rule, str) or not _RULE.fullmatch(rule) or not isinstance(text, str):
        raise _broken("a refusal without a rule")
    return Refusal(rule, excerpt(text, _TEXT))


def received(message: Mapping[str, Any]) -> int:
    """How many bytes of a context the broker has: the answer to `PUT /context`."""
    if (count := _count(message.get("received"))) is None:
        raise _broken("it does not say how much of a context it has")
    return count


def started(message: Mapping[str, Any]) -> Started:
    """The answer to `POST /session`."""
    details = message.get("details")
    if not isinstance(details, dict):
        raise _broken("an answer without details")
    facts: dict[str, str | bool] = {}
    for name in ("python", "kernel", "machine"):
        if (text := _text(details.get(name))) is not None:
            facts[name] = text
    if isinstance(in_place := details.get("zero_copy_context"), bool):
        facts["zero_copy_context"] = in_place
    walls = findings(message.get("walls"))
    return Started(MappingProxyType(walls), MappingProxyType(facts), around(details.get("around")))


def events(message: Mapping[str, Any]) -> Events:
    """The answer to `/execute`, `/respond` or `/pending`."""
    pending, worker = message.get("pending"), message.get("worker")
    if not isinstance(pending, list) or not isinstance(worker, str) or worker not in _STATES:
        raise _broken("an answer without events")
    if len(pending) > MAX_EVENTS:
        raise _broken(f"more than {MAX_EVENTS} events")
    said: list[Frame | Ended] = []
    asked: list[Asked] = []
    for entry in pending:
        if not isinstance(entry, dict) or not isinstance(name := entry.get("id"), str) or len(name) > 32:
            raise _broken("an event without an id")
        stopped = _stopped(entry.get("stopped"))
        if isinstance(frame := entry.get("frame"), str):
            said.append(Frame(name, frame.encode("ascii", "replace"), stopped, _seconds(entry.get("cpu"))))
        elif isinstance(end := entry.get("end"), dict):
            said.append(_ended(end, stopped))
        elif isinstance(request := entry.get("request"), dict):
            asked.append(Asked(name, _asked(request)))
        else:
            raise _broken("an event of no known kind")
    if len(said) > 1:
        raise _broken("two events of one worker")
    last = said[0] if said else None
    return Events(
        cast(WorkerState, worker),
        last if isinstance(last, Frame) else None,
        last if isinstance(last, Ended) else None,
        tuple(asked),
    )


def around(value: Any) -> Around:
    """The supervisor's findings in `value`. Raises nothing, whatever `value` is."""
    told: Mapping[str, Any] = value if isinstance(value, dict) else {}
    own: Mapping[str, Any] = supervisor if isinstance(supervisor := told.get("supervisor"), dict) else {}
    return Around(
        uid=_count(told.get("uid")),
        capabilities=_text(told.get("capabilities")),
        bounding=_text(told.get("bounding")),
        no_new_privs=_count(told.get("no_new_privs")),
        seccomp=_count(told.get("seccomp")),
        kernel=_text(told.get("kernel")),
        interfaces=_texts(told.get("interfaces")),
        connect=_table(told.get("connect")),
        write_root=_text(told.get("write_root")),
        write_sysctl=_text(told.get("write_sysctl")),
        memory_max=_text(told.get("memory_max")),
        pids_max=_text(told.get("pids_max")),
        cgroup_namespace=_text(told.get("cgroup_namespace")),
        apparmor=_text(told.get("apparmor")),
        unmasked=_texts(told.get("unmasked")),
        writable=_texts(told.get("writable")),
        limits=_counts(told.get("limits")),
        uids=_uids(own.get("uids"), 3),
        worker_uids=_uids(told.get("worker_uids"), 4),
        tried=MappingProxyType({name: each for name, each in own.items() if _word(name) and _word(each) is not None}),
    )


# -- before the first request ------------------------------------------------------------------------------------


def machine(line: Mapping[str, Any]) -> str | None:
    """The machine type in a line from a sandbox, as os.uname() gives it; None for any other line."""
    name = line.get("machine")
    return name if isinstance(name, str) and re.fullmatch(r"[a-z0-9_]{1,32}", name) else None


def listening(line: Mapping[str, Any]) -> str | int | None:
    """The path or port where a supervisor says that it listens; None for any other line."""
    where = line.get("listening")
    if isinstance(where, list) and len(where) == 2 and type(where[1]) is int and 0 < where[1] < 65536:
        return where[1]
    return where if isinstance(where, str) and len(where) <= 4096 and where.isprintable() else None


# -- parts -------------------------------------------------------------------------------------------------------


def _ended(entry: Mapping[str, Any], stopped: Stopped | None) -> Ended:
    status = entry.get("status")
    return Ended(
        status if type(status) is int and 0 <= status <= 0xFFFF and _is_end(status) else None,
        _seconds(entry.get("cpu")) or 0.0,
        _count(entry.get("oom_kills")),
        _text(entry.get("said")),
        stopped,
    )


def _is_end(status: int) -> bool:
    """Whether a wait status of Linux is that of an ended process, not of a stopped or a continued one."""
    return status & 0x7F != 0x7F


def _asked(request: Mapping[str, Any]) -> Call:
    """The body of `/enqueue` as a call, checked by the decoder of frames."""
    single = request.get("type") == "single"
    if not single and request.get("type") != "batched":
        raise _broken("a request of no known type")
    prompts = [request.get("prompt")] if single else request.get("prompts")
    kind = "llm_query" if single else "llm_query_batched"
    frame = {"op": "call", "call": kind, "prompts": prompts, "model": request.get("model")}
    call = event(frame, value_bytes=0, stdout_bytes=0, result_bytes=0)
    assert isinstance(call, Call)
    return call


def _stopped(value: Any) -> Stopped | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in _STOPPED:
        raise _broken("a worker was stopped for no known reason")
    return cast(Stopped, value)


def _seconds(value: Any) -> float | None:
    """CPU seconds, or None where out of range: checked before float(), for which an int may be too large."""
    return float(value) if type(value) in (int, float) and 0 <= value < _LONGEST_SECONDS else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None


def _text(value: Any) -> str | None:
    return excerpt(value, _TEXT) if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    """A short text of printable ASCII, or None."""
    return value if isinstance(value, str) and len(value) <= 40 and value.isascii() and value.isprintable() else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,19}", text) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or len(value) > _ITEMS or not all(isinstance(each, str) for each in value):
        return None
    return tuple(excerpt(each, _TEXT) for each in value)


def _table(value: Any) -> Mapping[str, str] | None:
    if not isinstance(value, dict) or len(value) > _ITEMS or not all(isinstance(each, str) for each in value.values()):
        return None
    return MappingProxyType({excerpt(name, _TEXT): excerpt(each, _TEXT) for name, each in value.items()})


def _counts(value: Any) -> Mapping[str, int]:
    """Counts by name, without those that are no count."""
    table = value if isinstance(value, dict) and len(value) <= _ITEMS else {}
    counts = {name: _count(each) for name, each in table.items() if _word(name)}
    return MappingProxyType({name: count for name, count in counts.items() if count is not None})


def _uids(value: Any, count: int) -> tuple[int, ...]:
    """`count` user ids; empty where `value` is anything else."""
    if not isinstance(value, list) or len(value) != count or not all(type(each) is int for each in value):
        return ()
    return tuple(value) if all(0 <= each < 1 << 32 for each in value) else ()


def _broken(reason: str) -> ProtocolViolation:
    return ProtocolViolation(f"the broker broke the protocol: {reason}")
