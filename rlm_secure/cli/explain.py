"""`rlm-secure explain`: prints the page of a rule, which is the docstring of its class."""

from __future__ import annotations

import argparse
import difflib

from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, OK, report, say, write_json

DETAILS = """\
examples:
  rlm-secure explain image-unpinned
  rlm-secure audit --list-rules

exit codes:
  0  the page was printed
  2  there is no such rule"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands, "explain", usage="RULE [--json]", summary="what a rule of the audit is about", details=DETAILS
    )
    command.add_argument("rule", metavar="RULE", help="its id, as findings show it")
    options.add_json(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the page of one rule. Returns the exit code."""
    from rich.markdown import Markdown

    from rlm_secure.audit import BY_ID, rules

    try:
        rule = rules.get(arguments.rule)
    except KeyError:
        near = difflib.get_close_matches(arguments.rule[:100], BY_ID, 1, 0.5)
        meant = f"did you mean {near[0]}?" if near else "rlm-secure audit --list-rules shows all"
        say(f"rlm-secure explain: error: no rule is called {arguments.rule[:100]!r}; {meant}", style="red")
        return COULD_NOT_RUN
    page = rule.page()
    if arguments.json:
        write_json(
            {
                "id": rule.id,
                "kind": rule.kind.value,
                "severity": rule.severity.value,
                "confidence": rule.confidence.value,
                "weakens": [each.value for each in rule.weakens],
                "summary": page.summary,
                "why": page.why,
                "hint": rule.hint,
                "bad": page.bad,
                "good": page.good,
                "see": list(page.see),
                "source": rule.source() or rule.__module__,
            }
        )
        return OK
    console = report()
    if console.is_terminal:
        console.print(Markdown(rule.markdown()))
    else:
        console.file.write(rule.markdown())
    return OK
