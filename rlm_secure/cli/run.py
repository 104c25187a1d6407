"""`rlm-secure run`: a recursive language model in a sandbox answers questions about a context."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rlm_secure.cli import options, outcome, transfer
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, talk, write_json

if TYPE_CHECKING:
    from rlm_secure.cli.progress import Progress
    from rlm_secure.types import RLMChatCompletion

DETAILS = """\
The context becomes the variable `context` of the model's cells: one file or stdin as a str, a directory
or several paths as a dict from path to text. Hidden files, symbolic links and files that are not UTF-8
text are left out of a directory, and counted on stderr.

With --persistent, each further line of stdin is a question about the same context: the model finds the variables
and the conversations before in its session. The limits count for each question.

API keys come from the backend's own environment variable (OPENAI_API_KEY, ...), never from an argument.

examples:
  rlm-secure run "Which line is the root cause?" --context app.log --model gpt-5-mini
  git log -p | rlm-secure run "What changed in the parser?" --context - --model gpt-5-mini
  rlm-secure run "How many users?" --context users.csv --model gpt-5-mini --schema '{"type": "integer"}'
  rlm-secure run "Who signed?" --context contracts/ --base-url http://localhost:8000/v1 --model qwen3
  rlm-secure run "Plot the sales by month" --policy data --input sales.csv --output-dir charts --model gpt-5-mini

exit codes:
  0  answered: the answer is on stdout, usage on stderr
  1  the run, or one of them, ended without an answer: a limit, or a provider that failed; or with one that
     no code has given: plain text after turns in which nothing was run, or code that was not run
  2  could not run: bad usage, policy, context or backend, or a wall that cannot be built here
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "run",
        usage="QUESTION --model NAME [--context PATH]... [options]",
        summary="answer a question over a file, a directory or stdin",
        details=DETAILS,
    )
    command.add_argument("question", metavar="QUESTION", help="what you want to know")
    options.add_context(command)
    options.add_backend(command)
    transfer.add(command)
    options.add_walls(command)
    command.add_argument(
        "--max-iterations", type=options.count, default=30, metavar="N", help="turns at most (default: 30)"
    )
    command.add_argument(
        "--max-depth", type=options.count, default=1, metavar="N", help="depth of recursion (default: 1)"
    )
    options.add_limits(command)
    options.add_schema(command)
    command.add_argument(
        "--persistent", action="store_true", help="keep the session, and read further questions from stdin"
    )
    options.add_watching(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Returns the exit code."""
    from rlm_secure import RLM, documents
    from rlm_secure.cli.progress import Progress
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import load_policy

    backend_kwargs = options.backend_kwargs(arguments)
    if arguments.persistent and "-" in (arguments.context or ()):
        say("rlm-secure run: error: with --persistent stdin has further questions; give --context a file", style="red")
        return COULD_NOT_RUN
    policy = load_policy(arguments.policy)
    payload: Any = arguments.question
    if arguments.context:
        payload = documents.read(arguments.context, limit=policy.limits.context_bytes, note=say)
    progress = Progress(talk(), verbose=arguments.verbose)
    code = OK
    try:
        rlm = RLM(
            backend=arguments.backend,
            backend_kwargs=backend_kwargs,
            environment=arguments.environment,
            policy=policy,
            max_iterations=arguments.max_iterations,
            max_depth=arguments.max_depth,
            **options.limits(arguments),
            answer_schema=arguments.schema,
            persistent=arguments.persistent,
            files=transfer.read(arguments, policy),
            logger=RLMLogger(log_dir=arguments.log_dir) if arguments.log_dir else None,
            on_event=progress,
        )
        with rlm:
            for number, question in enumerate(_questions(arguments)):
                about = payload if number == 0 else None
                try:
                    with progress:
                        completion = rlm.completion(about, question if arguments.context or number else None)
                except outcome.NO_ANSWER as error:
                    code = outcome.no_answer(arguments, error, progress)
                    if number == 0:
                        break  # the further ones would have no context, or no model
                else:
                    code = _show(arguments, completion, progress, policy.name) or code
                    if not transfer.write(arguments, completion.files):
                        code = FAILED
    except (ValueError, TypeError) as error:
        say(f"rlm-secure run: error: {error}", style="red")
        return COULD_NOT_RUN
    return code


def _questions(arguments: argparse.Namespace) -> Iterator[str]:
    """The question of the command, and with --persistent those on stdin."""
    yield arguments.question
    while arguments.persistent:
        if sys.stdin.isatty():
            talk().print("? ", end="")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _show(arguments: argparse.Namespace, completion: RLMChatCompletion, progress: Progress, policy: str) -> int:
    """Print an answer on stdout, and what it took on stderr. Returns the exit code."""
    if arguments.json:
        answered = {"answer": completion.response, **outcome.facts(arguments, completion, progress, policy)}
        write_json(answered if arguments.schema is None else {**answered, "parsed": completion.parsed})
        sys.stdout.flush()
    else:
        outcome.show_answer(arguments, completion)
    outcome.show_usage(completion, progress)
    if progress.unfounded:  # the log has said why
        say("rlm-secure run: no code gave this answer; raise --max-iterations, or name another --model", style="red")
        return FAILED
    return OK
