"""`rlm-secure doctor`: shows which walls this machine can build, by building them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rlm_secure.cli import options
from rlm_secure.cli.terminal import FAILED, OK, inert, report, show_table, write_json
from rlm_secure.interpreters import memory_bugs, without_them
from rlm_secure.registry import ENVIRONMENTS, PluginGroup, RunsIn, plugins, provenance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

    from rlm_secure.guarantees import EnforcementReport, Level, Wall
    from rlm_secure.policy import Policy

DETAILS = """\
Each environment is started for real under the policy; the table says what was tried and what happened.
One that this machine does not have is named, and is a failure only when you asked for it; one that would
start a sandbox in a provider's cloud is tried only then.

examples:
  rlm-secure doctor
  rlm-secure doctor --policy research --json

exit codes:
  0  every wall that the policy requires holds, in every environment that could be started
  1  a required wall is missing, or there is no environment
  2  could not run: bad usage or policy
  130  interrupted"""

#: Environments that are tried by default, since they cost nothing.
HERE = tuple(name for name, spec in ENVIRONMENTS.items() if spec.runs_in is not RunsIn.CLOUD)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "doctor",
        usage="[options]",
        summary="build the walls and show which of them hold",
        details=DETAILS,
    )
    command.add_argument(
        "--environment",
        action="append",
        metavar="NAME",
        help="try this one only; may be repeated (default: those of this machine)",
    )
    options.add_policy(command)
    options.add_json(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Try every environment. Returns the exit code."""
    from rlm_secure.policy import load_policy

    policy = load_policy(arguments.policy)
    asked = arguments.environment or ()
    others = plugins(PluginGroup.ENVIRONMENTS, ENVIRONMENTS)
    found = [
        _examine(name, policy) if name in (*asked, *HERE) else _Examined(name, policy, _not_tried(name, others))
        for name in asked or (*ENVIRONMENTS, *sorted(others))
    ]
    if arguments.json:
        write_json({"policy": policy.name, "environments": [entry.to_dict() for entry in found]})
    else:
        for entry in found:
            entry.show()
    counted = [entry for entry in found if entry.available or arguments.environment]
    return OK if counted and all(entry.sound for entry in counted) else FAILED


def _not_tried(name: str, others: Mapping[str, EntryPoint]) -> str:
    if name in others:
        return f"not tried, since it is of {provenance(others[name])}; ask with --environment {name}"
    return f"not tried, since it would start a sandbox of your account; ask with --environment {name}"


class _Examined:
    """One environment: its report, or why there is none."""

    def __init__(
        self, name: str, policy: Policy, outcome: EnforcementReport | str, required: tuple[Wall, ...] = ()
    ) -> None:
        self.name = name
        self.policy = policy
        self.outcome = outcome
        self.required = required
        self.missing = () if isinstance(outcome, str) else outcome.missing(self.required)
        from rlm_secure.policy import Gate

        allowed = Gate(policy).environment(name)
        self.refusal = "" if allowed.allowed else allowed.reason

    @property
    def available(self) -> bool:
        return not isinstance(self.outcome, str)

    @property
    def sound(self) -> bool:
        return self.available and not self.missing

    @property
    def python(self) -> str:
        """The Python version that cells run in; "" if unknown."""
        return "" if isinstance(self.outcome, str) else str(self.outcome.details.get("python", ""))

    def to_dict(self) -> dict[str, Any]:
        if isinstance(self.outcome, str):
            return {"environment": self.name, "available": False, "reason": self.outcome}
        return {
            **self.outcome.to_dict(),
            "available": True,
            "allowed": not self.refusal,
            "python_bugs": [bug.issue for bug in memory_bugs(self.python)],
            "required": [wall.value for wall in self.required],
            "missing": [wall.value for wall in self.missing],
        }

    def show(self) -> None:
        from rlm_secure.guarantees import Guarantee

        console, policy = report(), inert(self.policy.name)
        if isinstance(self.outcome, str):
            console.print(Text(f"{self.name}: {inert(self.outcome)}", style="yellow"))
            return
        walls = _table("wall", "holds", "required", "evidence")
        for status in self.outcome.walls:
            walls.add_row(
                status.wall.value,
                _level(status.level),
                "yes" if status.wall in self.required else "",
                Text(inert(status.evidence)),
            )
        promises = _table("guarantee", "holds")
        for guarantee in Guarantee:
            promises.add_row(guarantee.value, _level(self.outcome.guarantee(guarantee)))
        console.print(Text(f"environment {self.name}, policy {policy}", style="bold"))
        show_table(walls)
        show_table(promises)
        for key, value in self.outcome.details.items():
            console.print(Text(inert(f"{key}: {value}"), style="dim"))
        if bugs := memory_bugs(self.python):
            issues = ", ".join(bug.issue for bug in bugs)
            advice = (
                f"{self.name}: Python {self.python} has known memory bugs ({issues}) that a cell can use against the "
                f"language layer, so that only the walls of the operating system hold it; take Python "
                f"{without_them(self.python)} or newer"
            )
            console.print(Text(inert(advice), style="yellow"))
        if self.refusal:
            said = f"{self.name}: no session is opened under {policy}: {inert(self.refusal)}"
            console.print(Text(said, style="yellow"))
        if self.missing:
            names = ", ".join(wall.value for wall in self.missing)
            console.print(Text(f"{self.name}: missing and required by {policy}: {names}", style="bold red"))
        else:
            console.print(Text(f"{self.name}: every wall that {policy} requires holds", style="bold green"))


def _examine(name: str, policy: Policy) -> _Examined:
    from rlm_secure.environments.examine import examined
    from rlm_secure.errors import EnvironmentUnavailable, MissingExtra

    try:
        return _Examined(name, policy, *examined(name, policy))
    except (EnvironmentUnavailable, MissingExtra) as error:
        return _Examined(name, policy, f"not available: {error}")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != "evidence")
    return table


def _level(level: Level) -> Text:
    styles = {"full": "green", "partial": "yellow", "none": "red"}
    return Text(level.value, style=styles.get(level.value, "cyan"))
