"""`rlm-secure react`: a model answers a question by calling tools, one in each step."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import Any

from rlm_secure.cli import options, outcome, transfer
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, inert, say, talk, write_json
from rlm_secure.errors import SessionEnded
from rlm_secure.inert import inert_line

DETAILS = """\
--tool names a function of yours, which runs here, on this machine, with all your rights: check what it is given.
Its name, its docstring and its annotations are what the model is told of it, and its arguments are checked against
them. Its module is imported as Python imports it, from the current folder last. What it prints goes to stderr.
The model reads of a failure the text of a rlm_secure.tools.ToolError, and of another exception no text at all.

--python adds the tool `python`, a session in the sandbox: --context becomes its variable `context`, as in
`rlm-secure run`, and --input its `files`.

API keys come from the backend's own environment variable (OPENAI_API_KEY, ...), never from an argument.

examples:
  rlm-secure react "What is 25 + 17?" --tool my_tools:add_numbers --model gpt-5-mini
  rlm-secure react "Which line is the root cause?" --python --context app.log --model gpt-5-mini
  rlm-secure react "How many open tickets?" --tool desk:tickets.count --schema '{"type": "integer"}' --model qwen3

exit codes:
  0  answered: the answer is on stdout, usage on stderr
  1  the run ended without an answer: no final answer within --max-steps, a limit, or a provider that failed
  2  could not run: bad usage, tool, policy, context or backend, or a wall that cannot be built here
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "react",
        usage="QUESTION --model NAME [--tool MODULE:FUNCTION]... [--python] [options]",
        summary="answer a question with tools, one call in each step",
        details=DETAILS,
    )
    command.add_argument("question", metavar="QUESTION", help="what you want to know")
    command.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a function of yours that the model may call; may be repeated",
    )
    command.add_argument("--python", action="store_true", help="let the model run Python, in the sandbox")
    options.add_context(command)
    options.add_backend(command)
    transfer.add(command)
    options.add_walls(command)
    command.add_argument(
        "--max-steps", type=options.count, default=20, metavar="N", help="steps at most (default: 20)"
    )
    command.add_argument("--instructions", default="", metavar="TEXT", help="what else the model is told")
    command.add_argument(
        "--no-native-tools", action="store_true", help="calls as text, also where the backend has calls of its own"
    )
    options.add_limits(command)
    options.add_schema(command)
    options.add_watching(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Returns the exit code."""
    from rlm_secure import documents
    from rlm_secure.agents import ReActAgent
    from rlm_secure.cli.progress import Progress
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import load_policy

    backend_kwargs = options.backend_kwargs(arguments)
    if not arguments.python and (arguments.context or arguments.input or arguments.output_dir is not None):
        say(f"{arguments.prog}: error: --context, --input and --output-dir are for --python; add it", style="red")
        return COULD_NOT_RUN
    policy = load_policy(arguments.policy)
    given = transfer.read(arguments, policy)
    progress = Progress(talk(), verbose=arguments.verbose)
    try:
        with _printed_to_stderr():
            agent = ReActAgent(
                [tool(name) for name in arguments.tool],
                backend=arguments.backend,
                backend_kwargs=backend_kwargs,
                environment=arguments.environment,
                policy=policy,
                python=arguments.python,
                max_steps=arguments.max_steps,
                answer_schema=arguments.schema,
                native_tools=False if arguments.no_native_tools else None,
                instructions=arguments.instructions,
                logger=RLMLogger(log_dir=arguments.log_dir) if arguments.log_dir else None,
                on_event=progress,
                **options.limits(arguments),
            )
        context: Any = None
        if arguments.context:
            context = documents.read(arguments.context, limit=policy.limits.context_bytes, note=say)
        with progress, _printed_to_stderr():
            completion = agent.run(arguments.question, context, given)
    except SessionEnded as error:
        outcome.no_answer(arguments, error, progress)
        return FAILED
    except outcome.NO_ANSWER as error:
        return outcome.no_answer(arguments, error, progress)
    except (ValueError, TypeError) as error:
        say(f"{arguments.prog}: error: {error}", style="red")
        return COULD_NOT_RUN
    if arguments.json:
        steps = [step.to_dict() for step in completion.steps]
        facts = outcome.facts(arguments, completion, progress, policy.name)
        write_json({"answer": completion.to_dict()["answer"], "steps": steps, **facts})
        sys.stdout.flush()
    else:
        outcome.show_answer(arguments, completion)
    outcome.show_usage(completion, progress)
    return OK if transfer.write(arguments, completion.files) else FAILED


def tool(name: str) -> Any:
    """The function that `module:attribute.path` names, imported now. Raises a ValueError that names what is wrong."""
    from rlm_secure.agents import Tool

    about = f"--tool {inert_line(name)}"
    module, colon, path = name.partition(":")
    if not colon or not all(part.isidentifier() for each in (module, path) for part in each.split(".")):
        raise ValueError(f"{about} names no function; write MODULE:FUNCTION, such as my_tools:add_numbers")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # last: a file beside the tools must not shadow an installed module
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ValueError(f"{about}: {module} cannot be imported ({why}); name a module that can be, here") from error
    reached = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"{about}: {reached} has no {part}; name a function that it has") from None
        reached = f"{reached}.{part}"
    if not callable(found) and not isinstance(found, Tool):
        kind = type(found).__name__
        raise ValueError(f"{about}: it is no function, but of type {kind}; name a function, or a Tool")  # noqa: TRY004 - as above
    return found


class _ToStderr(io.TextIOBase):
    """Writes text to stderr, escaped: a tool may print what a model wrote."""

    def write(self, text: str) -> int:
        """Write it. Returns its length."""
        sys.stderr.write(inert(text))
        sys.stderr.flush()
        return len(text)


def _printed_to_stderr() -> contextlib.redirect_stdout[_ToStderr]:
    """While tools are imported or called, what they print goes to stderr: stdout has the answer, and nothing else."""
    return contextlib.redirect_stdout(_ToStderr())
