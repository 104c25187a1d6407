"""`rlm-secure run`: a recursive language model in a sandbox answers one question about a context."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, talk, write, write_json
from rlm_secure.plural import counted

DETAILS = """\
The context becomes the variable `context` of the model's cells: one file or stdin as a str, a directory
or several paths as a dict from path to text. Hidden files, symbolic links and files that are not UTF-8
text are left out of a directory, and counted on stderr.

API keys come from the backend's own environment variable (OPENAI_API_KEY, ...), never from an argument.

examples:
  rlm-secure run "Which line is the root cause?" --context app.log --model gpt-5-mini
  git log -p | rlm-secure run "What changed in the parser?" --context - --model gpt-5-mini
  rlm-secure run "Who signed?" --context contracts/ --base-url http://localhost:8000/v1 --model qwen3

exit codes:
  0  answered: the answer is on stdout, usage on stderr
  1  the run ended without an answer: a limit, or a provider that failed
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
    options.add_walls(command)
    command.add_argument(
        "--max-iterations", type=options.count, default=30, metavar="N", help="turns at most (default: 30)"
    )
    command.add_argument(
        "--max-depth", type=options.count, default=1, metavar="N", help="depth of recursion (default: 1)"
    )
    command.add_argument("--log-dir", metavar="DIR", help="write the trajectory there, as JSON lines")
    command.add_argument("--verbose", action="store_true", help="show cells and their output on stderr")
    options.add_json(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Returns the exit code."""
    from rlm_secure import RLM, documents, errors
    from rlm_secure.cli.progress import Progress
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import load_policy

    backend_kwargs = _backend_kwargs(arguments)
    if "model_name" not in backend_kwargs and arguments.backend != "scripted":
        say("rlm-secure run: error: no model was named; add --model NAME, as the backend calls it", style="red")
        return COULD_NOT_RUN
    policy = load_policy(arguments.policy)
    payload: Any = arguments.question
    if arguments.context:
        payload = documents.read(arguments.context, limit=policy.limits.context_bytes, note=say)
    progress = Progress(talk(), verbose=arguments.verbose)
    try:
        rlm = RLM(
            backend=arguments.backend,
            backend_kwargs=backend_kwargs,
            environment=arguments.environment,
            policy=policy,
            max_iterations=arguments.max_iterations,
            max_depth=arguments.max_depth,
            logger=RLMLogger(log_dir=arguments.log_dir) if arguments.log_dir else None,
            on_event=progress,
        )
        with rlm, progress:
            completion = rlm.completion(payload, root_prompt=arguments.question if arguments.context else None)
    except (
        errors.BudgetExceededError,
        errors.TimeoutExceededError,
        errors.TokenLimitExceededError,
        errors.ErrorThresholdExceededError,
        errors.ProviderError,
    ) as error:
        say(f"rlm-secure run: no answer: {error}", style="red")
        return FAILED if progress.turns else COULD_NOT_RUN
    except (ValueError, TypeError) as error:
        say(f"rlm-secure run: error: {error}", style="red")
        return COULD_NOT_RUN

    usage = completion.usage_summary
    if arguments.json:
        write_json(
            {
                "answer": completion.response,
                "model": completion.root_model,
                "seconds": completion.execution_time,
                "turns": progress.turns,
                "usage": usage.to_dict(),
                "environment": arguments.environment,
                "policy": policy.name,
            }
        )
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
    return OK


def _backend_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {"model_name": arguments.model, "base_url": arguments.base_url}
    return {key: value for key, value in given.items() if value is not None} | dict(arguments.backend_arg)
