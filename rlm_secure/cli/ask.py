"""`rlm-secure ask`: a model writes code that answers a question over a table, and the sandbox runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.cli import options, outcome
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, talk, write_json
from rlm_secure.errors import CodegenFailed, PromptTooLarge, Refused, SessionEnded, TableError
from rlm_secure.inert import inert_line
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.agents import CodegenCompletion

#: Bytes of a file of prompts, and notes on a table that are shown.
_PROMPT_BYTES: Final = 1024 * 1024
_NOTES: Final = 5

DETAILS = """\
TABLE is a .csv, .tsv, .txt, .xlsx, .xlsm or .parquet file. A process of its own reads it; of a formula it takes the
value that was saved with it. The model is told the names, kinds and ranges of the columns with a few examples, as
data, and writes code. The code is checked, and runs in the sandbox on a copy of the table: `columns`, a dict of
lists, and with --policy data also the pandas DataFrame `df`. What is wrong with it goes back to the model. The
answer is made of the code's variable `result` alone.

--mode read compares digests of that copy, taken before the code and after it; code that changed it is refused.
--mode edit takes the changed copy, and says what differs. auto asks the model which is meant: what is unclear reads.
TABLE itself is never changed: --output writes the changed table to a new .csv, .xlsx or .json file, in which a
spreadsheet finds no formula.

API keys come from the backend's own environment variable (OPENAI_API_KEY, ...), never from an argument.

examples:
  rlm-secure ask sales.csv "Which region sold most in 2024?" --model gpt-5-mini
  rlm-secure ask book.xlsx "Mean price per month?" --sheet Orders --policy data --model gpt-5-mini
  rlm-secure ask stock.csv "Delete the rows without a price" --mode edit --output clean.csv --model gpt-5-mini
  rlm-secure ask sales.csv "How many orders?" --schema '{"type": "integer"}' --json --model qwen3

exit codes:
  0  answered: the answer is on stdout, digests and usage on stderr
  1  the run ended without an answer: no code was accepted, the policy serves no edits, a limit, or a provider
     that failed; or --output could not be written
  2  could not run: bad usage, table, prompts, policy or backend, or a wall that cannot be built here
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "ask",
        usage="TABLE QUESTION --model NAME [--mode auto|read|edit] [options]",
        summary="answer a question over a table, or edit it, with checked code",
        details=DETAILS,
    )
    command.add_argument("table", metavar="TABLE", help="the file of the table")
    command.add_argument("question", metavar="QUESTION", help="what you want to know, or to have changed")
    command.add_argument(
        "--mode", choices=("auto", "read", "edit"), default="auto", help="auto, read or edit (default: auto)"
    )
    command.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook (default: the first visible one)")
    command.add_argument("--output", metavar="FILE", help="write the changed table there; never overwritten")
    options.add_backend(command)
    options.add_walls(command)
    command.add_argument(
        "--codegen",
        choices=("plan", "rlm"),
        default="plan",
        help="plan: ask for the code at once; rlm: let the model look at the table before (default: plan)",
    )
    command.add_argument("--no-slots", action="store_true", help="do not ask for columns, condition and ranking first")
    command.add_argument(
        "--repairs",
        type=options.count_or_none,
        default=3,
        metavar="N",
        help="how often code may go back to the model (default: 3; at most the policy's)",
    )
    command.add_argument("--prompts", type=prompts, metavar="FILE", help="a TOML file of prompts that replace ours")
    options.add_limits(command)
    form = command.add_mutually_exclusive_group()
    form.add_argument("--rewrite", action="store_true", help="let the model put the result into a sentence")
    options.add_schema(form)
    command.add_argument("--show-code", action="store_true", help="show each code that was tried, on stderr")
    options.add_watching(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Returns the exit code."""
    from rlm_secure.agents import CodegenPipeline, Table
    from rlm_secure.agents.tables.write import check
    from rlm_secure.cli.progress import Progress
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import load_policy

    backend_kwargs = options.backend_kwargs(arguments)
    if arguments.output is not None:
        if arguments.mode == "read":
            say(f"{arguments.prog}: error: --mode read changes no table; leave --output out, or edit", style="red")
            return COULD_NOT_RUN
        check(arguments.output)
    policy = load_policy(arguments.policy)
    progress = Progress(talk(), verbose=arguments.verbose)
    try:
        pipeline = CodegenPipeline(
            backend=arguments.backend,
            backend_kwargs=backend_kwargs,
            environment=arguments.environment,
            policy=policy,
            slots=not arguments.no_slots,
            codegen=arguments.codegen,
            repairs=arguments.repairs,
            answer="rewrite" if arguments.rewrite else "text",
            answer_schema=arguments.schema,
            prompts=arguments.prompts,
            logger=RLMLogger(log_dir=arguments.log_dir) if arguments.log_dir else None,
            on_event=progress,
            **options.limits(arguments),
        )
        with progress:
            table = Table.read(arguments.table, arguments.sheet, limit_bytes=policy.limits.context_bytes)
        _show_notes(table.notes)
        with progress:
            completion = pipeline.run(table, arguments.question, mode=arguments.mode)
    except SessionEnded as error:
        outcome.no_answer(arguments, error, progress)
        return FAILED
    except (*outcome.NO_ANSWER, PromptTooLarge) as error:
        code = outcome.no_answer(arguments, error, progress)
        if isinstance(error, CodegenFailed) and arguments.show_code:
            _show_code(error.attempts)
        elif isinstance(error, CodegenFailed) and error.attempts:
            say("add --show-code to see what was tried, raise --repairs, or name another --model")
        return code
    except Refused as error:
        if not progress.turns:
            raise
        return outcome.no_answer(arguments, error, progress)
    if arguments.json:
        write_json({**_found(completion), **outcome.facts(arguments, completion, progress, policy.name)})
        sys.stdout.flush()
    else:
        outcome.show_answer(arguments, completion)
    if arguments.show_code:
        _show_code(completion.attempts)
    _show_notes(each.message for each in completion.notices if each.kind == "rewrite")
    _show_evidence(completion)
    outcome.show_usage(completion, progress)
    return OK if _write(arguments, completion) else FAILED


def prompts(text: str) -> dict[str, Any]:
    """Parse a file of prompts, for argparse."""
    from rlm_secure import files
    from rlm_secure.agents.codegen.prompts import PromptMap
    from rlm_secure.policy import toml

    try:
        given = toml.loads(files.read(text, _PROMPT_BYTES).decode("utf-8-sig"))
        PromptMap(given)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error.strerror}; name a TOML file") from None
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8; save it as UTF-8 first") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} has no prompts for this: {error}") from None
    return given


#: What --json says of a completion beside outcome.facts().
_FOUND: Final = ("answer", "mode", "code", "result_text", "result", "attempts", "evidence", "table", "diff")


def _found(completion: CodegenCompletion[Any]) -> dict[str, Any]:
    known = completion.to_dict()
    return {name: known[name] for name in _FOUND}


def _show_code(attempts: Iterable[Any]) -> None:
    """Print each code of these Attempts on stderr, with what was wrong with it."""
    for attempt in attempts:
        say(f"--- {attempt.stage}: {attempt.reason or 'accepted'}", style="bold")
        for text, style in ((attempt.code, "cyan"), (attempt.error, "yellow")):
            if text:
                say(text, style=style)


def _show_notes(notes: Iterable[str]) -> None:
    shown = list(notes)
    for note in shown[:_NOTES]:
        say(note, style="yellow")
    if len(shown) > _NOTES:
        say(f"and {counted(len(shown) - _NOTES, 'more note')}", style="yellow")


def _show_evidence(completion: CodegenCompletion[Any]) -> None:
    """Print on stderr what the digests say, and what an edit changed."""
    evidence = completion.evidence
    if evidence is None:
        return
    for name, before in evidence.before.items():
        after = evidence.after.get(name)
        said = f"is as it was: SHA-256 {before}" if after == before else f"changed: SHA-256 {before}, then {after}"
        say(f"{name} of {counted(evidence.rows, 'row')} {said}", style="dim")
    if completion.diff is not None:
        say(completion.diff.summary(), style="dim")


def _write(arguments: argparse.Namespace, completion: CodegenCompletion[Any]) -> bool:
    """Write the changed table to --output, and say so. Returns whether there is nothing left to write."""
    from rlm_secure.agents.tables import write

    if arguments.output is None:
        return True
    shown = inert_line(arguments.output)
    if completion.table is None:
        said = f"{shown} is not written: the question was taken as one that only reads; add --mode edit"
        say(f"{arguments.prog}: error: {said}", style="red")
        return False
    try:
        notes = write(completion.table, arguments.output)
    except TableError as error:
        say(f"{arguments.prog}: error: {error}", style="red")
        return False
    say(f"{shown}: {counted(completion.table.rows, 'row')}", style="dim")
    _show_notes(f"{shown}: {note}" for note in notes)
    return True
