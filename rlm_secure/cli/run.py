"""`rlm-secure run`: a recursive language model in a sandbox answers questions about a context."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.cli import options, transfer
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, talk, write, write_json
from rlm_secure.errors import (
    AnswerInvalidError,
    BudgetExceededError,
    ErrorThresholdExceededError,
    PromptTooLarge,
    ProviderError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.cli.progress import Progress
    from rlm_secure.types import RLMChatCompletion

_LIMITS: Final = (BudgetExceededError, TimeoutExceededError, TokenLimitExceededError)
_NO_ANSWER: Final = (*_LIMITS, AnswerInvalidError, ErrorThresholdExceededError, ProviderError)

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
    command.add_argument(
        "--context", action="append", metavar="PATH", help="file, directory or - for stdin; may be repeated"
    )
    command.add_argument("--backend", default="openai", metavar="NAME", help="who answers (default: openai)")
    command.add_argument("--model", metavar="NAME", help="the model, as the backend calls it")
    command.add_argument("--base-url", metavar="URL", help="another server that speaks the backend's API")
    command.add_argument(
        "--backend-arg",
        action="append",
        default=[],
        type=options.backend_argument,
        metavar="KEY=VALUE",
        help="a further argument of the backend; VALUE is JSON or text; may be repeated",
    )
    transfer.add(command)
    options.add_walls(command)
    command.add_argument(
        "--max-iterations", type=options.count, default=30, metavar="N", help="turns at most (default: 30)"
    )
    command.add_argument(
        "--max-depth", type=options.count, default=1, metavar="N", help="depth of recursion (default: 1)"
    )
    command.add_argument(
        "--max-budget", type=options.dollars, metavar="USD", help="US dollars at most (default: the policy's)"
    )
    command.add_argument(
        "--max-tokens", type=options.count, metavar="N", help="tokens at most, in and out (default: the policy's)"
    )
    command.add_argument(
        "--timeout", type=options.seconds, metavar="SECONDS", help="stop earlier than the policy does"
    )
    command.add_argument(
        "--schema",
        type=options.schema,
        metavar="FILE|JSON",
        help="a JSON Schema; the answer is JSON that fits it",
    )
    command.add_argument(
        "--persistent", action="store_true", help="keep the session, and read further questions from stdin"
    )
    command.add_argument("--log-dir", metavar="DIR", help="write the trajectory there, as JSON lines")
    command.add_argument("--verbose", action="store_true", help="show cells and their output on stderr")
    options.add_json(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Returns the exit code."""
    from rlm_secure import RLM, documents
    from rlm_secure.cli.progress import Progress
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import load_policy

    backend_kwargs = _backend_kwargs(arguments)
    if "model_name" not in backend_kwargs and arguments.backend != "scripted":
        say("rlm-secure run: error: no model was named; add --model NAME, as the backend calls it", style="red")
        return COULD_NOT_RUN
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
            max_budget=arguments.max_budget,
            max_tokens=arguments.max_tokens,
            max_timeout=arguments.timeout,
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
                except (*_NO_ANSWER, PromptTooLarge) as error:
                    say(f"rlm-secure run: no answer: {error}", style="red")
                    # Before the first turn, it is the backend or the prompt that is no good, unless a limit is reached.
                    code = FAILED if progress.turns or isinstance(error, _LIMITS) else COULD_NOT_RUN
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
    usage = completion.usage_summary
    if arguments.json:
        answered = {
            "answer": completion.response,
            "model": completion.root_model,
            "seconds": completion.execution_time,
            "turns": progress.turns,
            "usage": usage.to_dict(),
            "environment": arguments.environment,
            "policy": policy,
            "notices": [each.to_dict() for each in completion.notices],
        }
        write_json(answered if arguments.schema is None else {**answered, "parsed": completion.parsed})
        sys.stdout.flush()
    elif arguments.schema is not None:
        write(json.dumps(completion.parsed, ensure_ascii=False) + "\n", sys.stdout)
    else:
        write(completion.response + "\n", sys.stdout)
    calls = sum(each.total_calls for each in usage.model_usage_summaries.values())
    cost = "" if usage.total_cost is None else f" · ${usage.total_cost:.4f}"
    say(
        f"{counted(progress.turns, 'turn')} · {counted(calls, 'model call')} · "
        f"{counted(usage.total_input_tokens, 'token')} in, {usage.total_output_tokens:,} out{cost} · "
        f"{completion.execution_time:.1f} s",
        style="dim",
    )
    if progress.unfounded:  # the log has said why
        say("rlm-secure run: no code gave this answer; raise --max-iterations, or name another --model", style="red")
        return FAILED
    return OK


def _backend_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {"model_name": arguments.model, "base_url": arguments.base_url}
    return {key: value for key, value in given.items() if value is not None} | dict(arguments.backend_arg)
