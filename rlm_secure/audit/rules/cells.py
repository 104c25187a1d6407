"""Rules on cells and recorded runs: what a policy would have refused, and which of its limits would have bound."""

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

#: Rules of the language layer that ordinary cells run into, without meaning anything by it.
_HARMLESS = frozenset({"syntax", "import", "removed-builtin", "source-size", "too-complex", "encoding"})


class RefusedBeforehand(Rule[CellsSubject]):
    """A policy would refuse a cell.

    Cells are compiled as they would be, in a sealed session, and not run. A model that writes `open` or `import os`
    wastes a turn; one that writes `__subclasses__` was talked into it by somebody.

    Bad:
        import os
        print(os.environ)

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
    """A cell reaches for what the language layer keeps from it.

    Dunder attributes, frames, format strings that walk through attributes: honest cells have no use for them. Where
    one turns up in a recorded run, somebody was trying.

    Bad:
        print(().__class__.__mro__)

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
    """A recorded run went over what a policy grants.

    Under this policy it would have ended there: with what it had, without its answer. Either the policy is too tight
    for the work, or the run did more than the work.

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
    """A recorded run holds what looks like a key.

    Our logger masks keys before they are written; another one may not. A trajectory is shown to people, sent with
    bug reports, and used for training.

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
                # Which key it is stays out of the report.
                message = f"turn {turn.number} holds what looks like a key"
                yield self.finding(turn.location, message, about=str(turn.number))
        for place, raw in subject.others:
            if redactor.text(raw) != raw:
                yield self.finding(place, "a line beside the turns holds what looks like a key", about="others")


#: More than any limit, and no more than a float holds.
_MOST = 10**18
_SUMS = frozenset({"lm.calls", "lm.tokens", "lm.cost_usd", "limits.cells", "limits.run_seconds"})


def _amounts(turn: TrajectoryTurn) -> Iterator[tuple[str, float]]:
    """What a turn used, by the key that bounds it."""
    yield "lm.calls", 1  # the turn's own
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
    """What a log says that something took: nothing takes less than nothing, which would make up for the rest."""
    if not isinstance(item, int | float) or isinstance(item, bool) or not item > 0:
        return 0.0
    return float(min(item, _MOST))


RULES = (RefusedBeforehand, CellReaches)
TRAJECTORY_RULES = (TrajectoryLimit, TrajectorySecret)
