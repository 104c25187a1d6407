"""`rlm-secure audit`: examine policies, packages, programs and images, and attack environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from rlm_secure import files
from rlm_secure.cli import options
from rlm_secure.cli.terminal import OK, inert, report, say, talk, write_json
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.audit import Report
    from rlm_secure.audit.subject import Progress

#: Exit codes. All others are reserved.
CLEAN: Final = 0
FOUND: Final = 1
COULD_NOT_RUN: Final = 2
NOTHING_AUDITED: Final = 3

_LEVELS = ("info", "low", "medium", "high", "critical")
_FORMATS = ("text", "json", "sarif", "junit", "github", "html")

DETAILS = """\
A target is a policy, a requirements file, a Python program, a Dockerfile, a Compose file or the output of
`docker inspect`, a seccomp profile, a recorded trajectory, a folder of those, the name of a shipped policy, or
the word packages. KIND:PATH says what a file is: policy, packages, python, dockerfile, container, seccomp,
cells, trajectory. Without targets: the policy, the installed packages, and the local environment.

Attacks run in an arena: a disposable process tree with its own namespaces, over a read-only view of this machine's
files without homes, keys, sockets and logs. Where none can be built, nothing is attacked. What an environment needs
from outside is shared by name, and named in the report:

  docker          --share /run/docker.sock --share /tmp/rlm-secure-sockets:rw
  a cloud         --share-network --share-variable E2B_API_KEY
  yours           --share the folder that it lies in, where that is below /home, /root or /tmp

An environment of yours is a class or function without arguments that makes an rlm_secure.testing.Adapter;
examples/adapters has six. What it holds against, the audit finds out by trying.

The report goes to stdout, everything else to stderr. What could not be looked at is counted apart, and changes the
exit code with --strict alone. The policy of --policy accepts findings anywhere; one that is a target, or is found in
a folder, accepts what is found in itself.

examples:
  rlm-secure audit
  rlm-secure audit --quick --format sarif -o audit.sarif
  rlm-secure audit policy.toml Dockerfile compose.yaml src/
  rlm-secure audit --env docker --share /run/docker.sock --share /tmp/rlm-secure-sockets:rw
  rlm-secure audit cells:path/to/cells --policy standard
  rlm-secure audit --env examples.adapters.plain:open_session

exit codes:
  0  nothing at or above --fail-on
  1  findings
  2  could not run: bad usage, policy or target, no arena, or an environment that could not be judged; with --strict
     also anything else that could not be looked at
  3  nothing was audited
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "audit",
        usage="[TARGET...] [options]",
        summary="find what weakens the walls, and attack them",
        details=DETAILS,
    )
    command.add_argument("targets", nargs="*", metavar="TARGET", help="what to look at; see below")
    command.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="attack this environment, or package.module:name of yours; may be repeated",
    )
    command.add_argument(
        "--attacks", metavar="FOLDER", help="attack with the files of FOLDER as well, written like sandboxes/attacks"
    )
    options.add_policy(command)
    command.add_argument("--quick", action="store_true", help="fewer attacks, in a few seconds")
    command.add_argument("--format", choices=_FORMATS, default="text", metavar="FORMAT", help=", ".join(_FORMATS))
    command.add_argument("-o", "--output", metavar="FILE", help="write the report to FILE instead of stdout")
    command.add_argument(
        "--fail-on", choices=_LEVELS, default="medium", metavar="LEVEL", help=f"{', '.join(_LEVELS)} (default: medium)"
    )
    command.add_argument("--baseline", metavar="FILE", help="findings in FILE do not count")
    command.add_argument("--write-baseline", metavar="FILE", help="write the findings to FILE, for --baseline")
    command.add_argument("--no-ignores", action="store_true", help="count what the policy accepts, for reviewers")
    command.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="ID",
        help="use this rule of another distribution; may be repeated",
    )
    command.add_argument("--list-rules", action="store_true", help="print every rule and exit")
    command.add_argument(
        "--deadline",
        type=options.seconds,
        default=3600.0,
        metavar="SECONDS",
        help="look at no file, and start no attack, after this long (default: 3600)",
    )
    command.add_argument(
        "--strict", action="store_true", help="exit with 2 where something could not be looked at, whatever was found"
    )
    command.add_argument("--traceback", action="store_true", help="show the traceback of an adapter that failed")
    arena = command.add_argument_group("the arena")
    options.add_shares(arena)
    arena.add_argument("--no-arena", action="store_true", help="attack on this machine itself; a finding of its own")
    arena.add_argument(
        "--this-machine-is-disposable", action="store_true", help="with --no-arena as root: yes, it may be destroyed"
    )
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the report, and return the exit code."""
    if arguments.list_rules:
        return _list_rules(arguments.format)
    from rlm_secure.audit import Severity, Unreadable, accept, audit
    from rlm_secure.audit.formats.text import one_line
    from rlm_secure.audit.probes import AttackFailed
    from rlm_secure.testing import corpus
    from rlm_secure.testing.arena import ArenaRefused, NotInArena, waive

    try:
        if arguments.this_machine_is_disposable and not arguments.no_arena:
            raise NotInArena("--this-machine-is-disposable goes with --no-arena: in an arena no machine is at risk")
        if arguments.no_arena:
            waive(disposable=arguments.this_machine_is_disposable)
        known = accept.read_baseline(Path(arguments.baseline)) if arguments.baseline else frozenset()
        with _progress() as progress:
            found = audit(
                arguments.targets,
                policy=arguments.policy,
                environments=arguments.env,
                quick=arguments.quick,
                use_ignores=not arguments.no_ignores,
                known=known,
                fail_on=Severity(arguments.fail_on),
                progress=progress,
                own_attacks=corpus.own(Path(arguments.attacks)) if arguments.attacks else (),
                arena=options.arena_of(arguments),
                deadline=arguments.deadline,
                strict=arguments.strict,
                more_rules=arguments.rule,
            )
        if arguments.write_baseline:
            _write_baseline(arguments.write_baseline, found)
        _print(found, arguments.format, arguments.output)
        for environment in found.environments:
            if not environment.judged:
                shown = "\n" + indent(environment.trace, "  ") if arguments.traceback and environment.trace else ""
                more = "; --traceback shows where" if environment.trace and not shown else ""
                reason = f"{environment.name} could not be judged: {one_line(environment.reason)}{more}{shown}"
                say(f"rlm-secure audit: {reason}", style="red")
    except (Unreadable, ArenaRefused, NotInArena, AttackFailed) as error:
        say(f"rlm-secure audit: error: {error}", style="red")
        return COULD_NOT_RUN
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}; name a file that can be written"
        say(f"rlm-secure audit: error: {reason}", style="red")
        return COULD_NOT_RUN
    return found.code


def _print(found: Report, name: str, output: str | None) -> None:
    from rlm_secure.audit.formats import MACHINE, text

    if name == "text":
        styled = text.render(found)
        if output:
            files.replace(output, styled.plain.encode("utf-8", "backslashreplace"))
        else:
            report().print(styled, end="")
    else:
        rendered = MACHINE[name](found)
        if output:
            files.replace(output, rendered.encode("utf-8", "backslashreplace"))
        else:
            sys.stdout.write(rendered)
    if output or name != "text":
        say(text.summary(found))


def _write_baseline(path: str, found: Report) -> None:
    import json

    from rlm_secure.audit.accept import baseline

    files.replace(path, (json.dumps(baseline(found.findings), indent=2) + "\n").encode())
    say(f"{counted(len(found.findings), 'finding')} written to {path}")


def _list_rules(name: str) -> int:
    from rlm_secure.audit import RULES, rules

    others = rules.others()
    if name == "json":
        listed: list[dict[str, Any]] = [
            {
                "id": rule.id,
                "kind": rule.kind.value,
                "severity": rule.severity.value,
                "confidence": rule.confidence.value,
                "weakens": [each.value for each in rule.weakens],
                "summary": rule.page().summary,
            }
            for rule in RULES
        ]
        listed += [{"id": each, "from": whose} for each, whose in others.items()]
        write_json({"rules": listed})
        return OK
    console = report()
    for rule in RULES:
        console.print(Text(f"{rule.id:<28} {rule.kind:<12} {rule.severity:<9} {rule.page().summary}"))
    for each, whose in others.items():
        console.print(Text(inert(f"{each:<28} of {whose}; use it with --rule {each}")))
    return OK


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on stderr if that is a terminal; None otherwise."""
    console = talk()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("attacking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=inert(name))

        yield show
