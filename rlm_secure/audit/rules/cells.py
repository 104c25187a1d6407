"""Rules on cells and recorded runs: what a policy would have refused, and which of its limits were exceeded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.cells import CellsSubject
from rlm_secure.audit.read.trajectory import TrajectorySubject, TrajectoryTurn
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee
from rlm_secure.inert import excerpt
from rlm_secure.logger.redact import Redactor
from rlm_secure.policy.keys import value

#: Rules of the language layer that ordinary cells violate by mistake.
_HARMLESS = frozenset({"syntax", "import", "removed-builtin", "source-bytes", "tree-size", "too-complex", "encoding"})


class RefusedBeforehand(Rule[CellsSubject]):
    """A policy would refuse a cell.

    Cells are compiled in a sealed session, as in a real run, but not executed. A model that writes `open` or
    `import socket` wastes a turn; one that writes `__subclasses__` was probably told to by hostile input.

    Bad:
        import socket
        print(socket.gethostname())

    Good:
        print(len(context))

    See:
        rlm-secure policy show
    """

    id = "cell-refused"
    kind = Kind.CELLS
    severity = Severity.MEDIUM
    weakens = (Guarantee.NO_REFLECTION,)
    hint = "look at the cell; where it is honest, change the prompt, or offer a host tool"

    def check(self, subject: CellsSubject) -> Iterator[Finding]:
        for each in subject.refused:
            if each.rule in _HARMLESS:
                yield self._found(each.location, each)

    def _found(self, location: Any, each: Any) -> Finding:
        within = f"{each.cell.label}, line {each.line}: " if each.cell.label else ""
        message = f"{within}{each.rule}: {excerpt(each.message)}"
        return self.finding(location, message, about=f"{each.cell.label} {each.rule} {each.line}:{each.column}")


class CellReaches(RefusedBeforehand):
    """A cell tries to access what the language layer forbids.

    Dunder attributes, frames, format strings that access attributes: honest cells do not need them. In a recorded
    run they are a sign of an attack.

    Bad:
        print(().__class__.__subclasses__())

    Good:
        print(type(context))

    See:
        threat-model.md, claim no-reflection
    """

    id = "cell-reaches"
    severity = Severity.HIGH
    hint = "find out what the model had read before it wrote this"

    def check(self, subject: CellsSubject) -> Iterator[Finding]:
        for each in subject.refused:
            if each.rule not in _HARMLESS:
                yield self._found(each.location, each)


class TrajectoryLimit(Rule[TrajectorySubject]):
    """A recorded run exceeded a limit of the policy.

    Under this policy it would have ended there, without its final answer. Either the policy is too strict for the
    task, or the run did more than the task.

    See:
        rlm-secure policy show
    """

    id = "trajectory-limit"
    kind = Kind.TRAJECTORY
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND, Guarantee.BOUNDED_TIME)
    hint = "raise the limit on purpose, or find out what took so much"

    def check(self, subject: TrajectorySubject) -> Iterator[Finding]:
        seen: dict[str, tuple[float, TrajectoryTurn]] = {}
        totals: dict[str, float] = {}
        for turn in subject.turns:
            totals["lm.iterations"] = turn.number
            for key, amount in _amounts(turn):
                if key in _SUMS:
                    amount = totals[key] = totals.get(key, 0) + amount
                if amount > value(subject.policy, key) and key not in seen:
                    seen[key] = (amount, turn)
            if turn.number > subject.policy.lm.iterations and "lm.iterations" not in seen:
                seen["lm.iterations"] = (turn.number, turn)
        for key, (amount, turn) in sorted(seen.items(), key=lambda each: each[1][1].number):
            message = f"turn {turn.number} goes over {key}: {amount:,.10g} of {value(subject.policy, key):,}"
            yield self.finding(turn.location, message, about=key)


class TrajectorySecret(Rule[TrajectorySubject]):
    """A recorded run contains what looks like a key.

    Our logger masks keys before they are written; other loggers may not. Trajectories are shown to people, attached
    to bug reports, and used for training.

    See:
        policies/TEMPLATE.toml, data.redact
    """

    id = "trajectory-secret"
    kind = Kind.TRAJECTORY
    severity = Severity.HIGH
    weakens = (Guarantee.NO_SECRETS,)
    hint = "delete the file, withdraw the key, and log with rlm_secure.logger"

    def check(self, subject: TrajectorySubject) -> Iterator[Finding]:
        redactor = Redactor(subject.policy.data.redact, environ=False)
        for turn in subject.turns:
            masked = redactor.text(turn.raw)
            if masked != turn.raw:
                # The report must not contain the key.
                message = f"turn {turn.number} holds what looks like a key"
                yield self.finding(turn.location, message, about=str(turn.number))
        for place, raw in subject.others:
            if redactor.text(raw) != raw:
                yield self.finding(place, "a line beside the turns holds what looks like a key", about="others")


#: Larger than any limit; keeps a huge integer of a log within the range of a float.
_MOST = 10**18
_SUMS = frozenset({"lm.calls", "lm.tokens", "lm.cost_usd", "limits.cells", "limits.run_seconds"})


def _amounts(turn: TrajectoryTurn) -> Iterator[tuple[str, float]]:
    """What a turn used, by the policy key that limits it."""
    yield "lm.calls", 1  # the model call of the turn itself
    yield "limits.run_seconds", _number(turn.entry.get("iteration_time"))
    for block in turn.blocks:
        yield "limits.cells", 1
        yield "language.source_bytes", len(str(block.get("code") or "").encode("utf-8", "surrogatepass"))
    for result in turn.results:
        yield "limits.cell_seconds", _number(result.get("execution_time"))
        yield "limits.stdout_bytes", len(str(result.get("stdout") or "").encode("utf-8", "surrogatepass"))
    for call in turn.calls:
        yield "lm.calls", 1
        yield "lm.prompt_bytes", len(str(call.get("prompt") or "").encode("utf-8", "surrogatepass"))
        yield "lm.reply_bytes", len(str(call.get("response") or "").encode("utf-8", "surrogatepass"))
        yield "lm.timeout_seconds", _number(call.get("execution_time"))
        yield "lm.tokens", _number(call.get("prompt_tokens")) + _number(call.get("completion_tokens"))
        usage = call.get("usage_summary")
        yield "lm.cost_usd", _number(usage.get("total_cost") if isinstance(usage, dict) else 0)


def _number(item: Any) -> float:
    """An amount from a log. Negative ones count as 0: they would cancel out other amounts."""
    if not isinstance(item, int | float) or isinstance(item, bool) or not item > 0:
        return 0.0
    return float(min(item, _MOST))


RULES = (RefusedBeforehand, CellReaches)
TRAJECTORY_RULES = (TrajectoryLimit, TrajectorySecret)
