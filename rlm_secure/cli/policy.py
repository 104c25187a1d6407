"""`rlm-secure policy`: write, check, show and compare policies."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from rlm_secure import files
from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, inert, report, say, write_json

if TYPE_CHECKING:
    from rlm_secure.policy.compare import Change

DETAILS = """\
examples:
  rlm-secure policy init policy.toml
  rlm-secure policy check policy.toml
  rlm-secure policy show standard
  rlm-secure policy diff strict policy.toml
  rlm-secure policy schema > policy.schema.json

exit codes:
  0  done; for check: no mistakes; for diff: nothing became weaker
  1  for check: mistakes; for diff: something became weaker
  2  could not run: bad usage, or a policy that does not load"""

_STYLES = {"weaker": "red", "weaker in part": "red", "stronger": "green"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command and its five verbs."""
    command = options.parser(
        commands,
        "policy",
        usage="VERB [options]",
        summary="write, check, show and compare policies",
        details=DETAILS,
    )
    command.set_defaults(command=lambda _: _help(command))
    verbs = command.add_subparsers(title="verbs", metavar="VERB")
    verb = partial(options.verb, verbs, "policy")
    init = verb("init", "[FILE]", "write the commented template with every default")
    init.add_argument("file", nargs="?", metavar="FILE", help="where to (default: stdout); never overwritten")
    init.set_defaults(command=_init)
    check = verb("check", "POLICY...", "say everything that is wrong with policies")
    check.add_argument("policies", nargs="+", metavar="POLICY", help="a shipped name or a TOML file")
    check.set_defaults(command=_check)
    show = verb("show", "[POLICY]", "print the effective values, each with where it comes from")
    show.add_argument("policy", nargs="?", default="strict", metavar="POLICY", help="default: strict")
    options.add_json(show)
    show.set_defaults(command=_show)
    diff = verb("diff", "BEFORE AFTER", "print what differs; what became weaker is marked with !")
    diff.add_argument("before", metavar="BEFORE", help="a shipped name or a TOML file")
    diff.add_argument("after", metavar="AFTER", help="a shipped name or a TOML file")
    options.add_json(diff)
    diff.set_defaults(command=_diff)
    schema = verb("schema", "", "print the JSON Schema of policy files, for editors")
    schema.set_defaults(command=_schema)


def _help(command: argparse.ArgumentParser) -> int:
    command.print_help(sys.stderr)
    return COULD_NOT_RUN


def _init(arguments: argparse.Namespace) -> int:
    from rlm_secure.policy.page import template

    if arguments.file is None:
        sys.stdout.write(template())
        return OK
    try:
        # Never overwrite a policy, and create a file that only its owner can write.
        descriptor = files.create(arguments.file, 0o644)
    except FileExistsError:
        say(f"rlm-secure policy: error: {arguments.file} exists; name another file, or delete it first", style="red")
        return COULD_NOT_RUN
    except OSError as error:
        reason = f"{arguments.file} cannot be written: {error.strerror}; name another file"
        say(f"rlm-secure policy: error: {reason}", style="red")
        return COULD_NOT_RUN
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a file descriptor, not a path
        file.write(template())
    say(f"{arguments.file}: every key with its default; check it with: rlm-secure policy check {arguments.file}")
    return OK


def _check(arguments: argparse.Namespace) -> int:
    from rlm_secure.policy import load_policy, problems

    code = OK
    console = report()
    for name in arguments.policies:
        found = problems(name)
        for problem in found:
            console.print(Text(inert(str(problem)), style="red"))
            code = FAILED
        if not found:
            console.print(Text(inert(f"{name}: it is right; it is called {load_policy(name).name}"), style="green"))
    return code


def _show(arguments: argparse.Namespace) -> int:
    from rlm_secure.policy import trace
    from rlm_secure.policy.page import show

    loaded = trace(arguments.policy)
    if arguments.json:
        origins = {
            key: {"source": each.source, "line": each.line, "column": each.column}
            for key, each in loaded.origins.items()
        }
        values = loaded.policy.model_dump(mode="json")
        write_json({"source": loaded.source, "extends": list(loaded.chain), "policy": values, "origins": origins})
    else:
        sys.stdout.write(inert(show(loaded), terminal=sys.stdout.isatty()))
    return OK


def _diff(arguments: argparse.Namespace) -> int:
    from rlm_secure.policy import load_policy
    from rlm_secure.policy.compare import Effect, diff

    changes = diff(load_policy(arguments.before), load_policy(arguments.after))
    weaker = [change for change in changes if change.effect in (Effect.WEAKER, Effect.MIXED)]
    if arguments.json:
        write_json({"weaker": len(weaker), "changes": [_plain(change) for change in changes]})
    else:
        _print_changes(changes)
        say(f"{len(changes)} keys differ, {len(weaker)} of them weaker" if changes else "they grant the same")
    return FAILED if weaker else OK


def _print_changes(changes: Sequence[Change]) -> None:
    from rlm_secure.policy.page import toml

    console = report()
    for change in changes:
        mark = "!" if change.effect.value.startswith("weaker") else "+" if change.effect.value == "stronger" else " "
        if change.added or change.removed:
            entries = [f"+{each}" for each in change.added] + [f"-{each}" for each in change.removed]
            said = " ".join(entries)
        else:
            said = f"{_value(change.before, toml)} -> {_value(change.after, toml)}"
        line = f"{mark} {change.key}: {said}  ({change.effect})"
        console.print(Text(inert(line), style=_STYLES.get(change.effect.value, "")))


def _value(item: Any, toml: Any) -> str:
    return "nothing" if item is None else " ".join(toml(item).split())


def _plain(change: Change) -> dict[str, Any]:
    return {
        "key": change.key,
        "before": _json(change.before),
        "after": _json(change.after),
        "effect": change.effect.value,
        "added": list(change.added),
        "removed": list(change.removed),
    }


def _json(item: Any) -> Any:
    if isinstance(item, tuple):
        return [_json(each) for each in item]
    return item.model_dump(mode="json") if hasattr(item, "model_dump") else item


def _schema(_: argparse.Namespace) -> int:
    from rlm_secure.policy.page import schema
    from rlm_secure.registry import environment_names

    sys.stdout.write(json.dumps(schema(environment_names()), indent=2) + "\n")
    return OK
