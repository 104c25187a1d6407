"""`rlm-secure demo`: a real long-context task, then attacks on the walls. Offline; nothing is set up for it.

The text is this machine's own standard library, the model is the `scripted` backend: its turns are written
down below, as a model would write them, and its sub-model is a function that reads the prompts it is given.
The answer is then computed a second time in plain Python, without any of this, and compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from rlm_secure.cli import hostile, options
from rlm_secure.cli.terminal import FAILED, OK, inert, report, show_table

if TYPE_CHECKING:
    from rlm_secure import REPLResult, Sandbox
    from rlm_secure.events import Event
    from rlm_secure.testing import Unscreened

DETAILS = """\
Uses no network and no key; the attacks run in an arena (rlm-secure arena --help). Ends with exit code 0 only when
the answer was right and every attack failed.

exit codes:
  0  the answer was right, and every attack was stopped
  1  it was not, or one was not
  2  could not run: a wall cannot be built here (see rlm-secure doctor)
  130  interrupted"""

QUESTION = "Which exception do the sources raise most often, on how many lines that begin with `raise`?"
ASK = "Count the exceptions raised in this Python source. Answer with a JSON object: name -> lines.\n\n"

#: What the scripted model says, turn by turn.
TURNS = (
    """\
I look at the context before I decide how to cut it.

```repl
print(type(context).__name__, "of", len(context), "files,", sum(map(len, context.values())), "characters")
print("largest:", max(context, key=lambda path: len(context[path])))
```""",
    """\
Code can drop the files that raise nothing. The rest I cut at line ends into chunks that a model can read.

```repl
import re

raising = re.compile(r"^[ \\t]*raise\\b", re.MULTILINE)
chunks, chunk, size = [], [], 0
kept = [path for path in sorted(context) if raising.search(context[path])]
for path in kept:
    for line in context[path].split("\\n"):
        chunk.append(line)
        size += len(line) + 1
        if size > 250_000:
            chunks.append("\\n".join(chunk))
            chunk, size = [], 0
chunks.append("\\n".join(chunk))
print(f"{len(kept)} of {len(context)} files raise something; cut into {len(chunks)} chunks")
```""",
    """\
One question per chunk, many chunks at a time; the counts are added up by code.

```repl
import json
from collections import Counter

total = Counter()
for first in range(0, len(chunks), 12):
    prompts = [ASK + chunk for chunk in chunks[first : first + 12]]
    for reply in llm_query_batched(prompts):
        total.update(json.loads(reply))
for name, lines in total.most_common(3):
    print(f"{name}: {lines:,}")
```""",
    """\
```repl
name, lines = total.most_common(1)[0]
final_answer(f"{name}, on {lines:,} lines")
```""",
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "demo",
        usage="",
        summary="a real long-context task behind the walls, then attacks on them; offline",
        details=DETAILS,
    )
    command.set_defaults(command=run)


def run(_: argparse.Namespace) -> int:
    """Run the demo. Returns the exit code."""
    right = answer_a_question()
    stopped = attack_the_walls()
    console = report()
    console.print()
    if right and stopped:
        console.print(Text("demo: the answer is right, and every attack was stopped", style="bold green"))
        return OK
    failed = "the answer is wrong" if not right else "an attack got through"
    console.print(Text(f"demo: FAILED: {failed}", style="bold red"))
    return FAILED


def answer_a_question() -> bool:
    """The task: ask the scripted model, compare with plain Python. True when they agree."""
    from rlm_secure import RLM

    console = report()
    root = Path(sysconfig.get_path("stdlib"))
    sources = read_sources(root)
    size = sum(map(len, sources.values()))
    console.print(Text(f"context:  {len(sources):,} files, {size:,} characters, from {root}"))
    console.print(Text(f"question: {QUESTION}"))
    console.print(Text("model:    the scripted backend (offline); its cells run in a local session, policy strict"))
    started = time.perf_counter()
    with RLM(
        backend="scripted",
        backend_kwargs={"turns": [turn.replace("ASK", json.dumps(ASK)) for turn in TURNS], "replies": reader},
        environment="local",
        policy="strict",
        on_event=_show_cell,
    ) as rlm:
        completion = rlm.completion(sources, root_prompt=QUESTION)
    seconds = time.perf_counter() - started
    usage = completion.usage_summary
    calls = sum(each.total_calls for each in usage.model_usage_summaries.values())
    expected = plain_answer(sources.values())
    right = completion.response == expected
    console.print(Text(f"\nanswer:   {inert(completion.response)}", style="bold"))
    console.print(
        Text(
            f"plain Python, outside: {expected}  {'the same' if right else 'DIFFERENT'}",
            style="" if right else "red",
        )
    )
    console.print(
        Text(
            f"{calls} model calls, {usage.total_input_tokens:,} tokens in (estimated), {seconds:.1f} s",
            style="dim",
        )
    )
    return right


def read_sources(root: Path) -> dict[str, str]:
    """Every Python source of the standard library below `root`, by relative path."""
    sources = {}
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "dist-packages"} & set(path.parts):
            sources[path.relative_to(root).as_posix()] = path.read_bytes().decode("utf-8", errors="replace")
    return sources


def reader(prompt: str) -> str:
    """The scripted sub-model: reads the source in the prompt and counts, as it is asked to."""
    names = re.findall(r"^[ \t]*raise[ \t]+([A-Za-z_][\w.]*)", prompt.removeprefix(ASK), re.MULTILINE)
    return json.dumps(Counter(names))


def plain_answer(texts: Iterable[str]) -> str:
    """The right answer, line by line in plain Python: no model, no sandbox, no chunks."""
    total: Counter[str] = Counter()
    for text in texts:
        for line in text.split("\n"):
            words = line.lstrip(" \t")
            rest = words[5:].lstrip(" \t")
            if (
                words.startswith(("raise ", "raise\t"))
                and rest[:1].isascii()
                and (rest[:1].isalpha() or rest[:1] == "_")
            ):
                end = next((at for at, char in enumerate(rest) if not (char.isalnum() or char in "_.")), len(rest))
                total[rest[:end]] += 1
    name, lines = total.most_common(1)[0]
    return f"{name}, on {lines:,} lines"


def _show_cell(event: Event) -> None:
    from rlm_secure.events import CellCompleted

    if isinstance(event, CellCompleted):
        result = event.block.result
        output = (result.stdout + result.stderr).rstrip() or "(nothing: it gave the answer)"
        report().print(Text(f"\nturn {event.number}, the model's cell printed:", style="bold"))
        report().print(Text(textwrap.indent(inert(output), "  ")))


def attack_the_walls() -> bool:
    """Every hostile cell in its own session, in an arena. True when all were stopped."""
    from rlm_secure.testing import arena

    if not arena.outside():
        return attack_here()
    terminal = report().is_terminal
    command = [sys.executable, "-m", "rlm_secure.cli.demo"]
    with arena.Arena().start(command, stdout=None if terminal else subprocess.PIPE) as running:
        if running.process.stdout is not None:
            report().file.write(running.process.stdout.read().decode("utf-8", "replace"))
        return running.wait() == OK


def attack_here() -> bool:
    """The same in this process."""
    from rlm_secure import Sandbox
    from rlm_secure.environments.local.zygote import Plan
    from rlm_secure.testing import unscreened

    outcomes = [
        _show(
            "attacks through the whole sandbox, policy strict: the language layer answers first",
            [(Sandbox, attempt) for attempt in hostile.LANGUAGE],
            hostile.BY_LANGUAGE,
        ),
        _show(
            "the language layer switched off: plain Python with ctypes against the kernel walls",
            [(unscreened, attempt) for attempt in hostile.KERNEL],
            hostile.BY_KERNEL,
        ),
        _show(
            "more walls switched off: what is behind them",
            [
                (partial(unscreened, plan=Plan(**dict.fromkeys(without, False))), attempt)
                for without, attempt in hostile.SINGLE
            ],
            hostile.BY_KERNEL,
            without=[f"without {', '.join(without)}" for without, _ in hostile.SINGLE],
        ),
        _show(
            "greed, for one second each",
            [(Sandbox, attempt) for attempt in hostile.LIMITS],
            hostile.BY_LIMIT,
            seconds=1.0,
        ),
    ]
    return all(outcomes)


def _show(
    title: str,
    attempts: Sequence[tuple[Callable[[], Sandbox | Unscreened], hostile.Attempt]],
    denial: str,
    *,
    without: Sequence[str] = (),
    seconds: float | None = None,
) -> bool:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(4 if without else 2):
        table.add_column(no_wrap=True)
    table.add_column()
    all_stopped = True
    for number, (start, attempt) in enumerate(attempts):
        with start() as session:
            result = session.run(attempt.against(os.getpid()), timeout=seconds)
        stopped, evidence = judge(result, denial)
        all_stopped = all_stopped and stopped
        walls = [Text(without[number], style="dim"), Text(attempt.wall)] if without else []
        table.add_row(
            Text("stopped" if stopped else "FAILED", style="green" if stopped else "bold red"),
            Text(attempt.aim),
            *walls,
            Text(inert(evidence), style="dim"),
        )
    report().print(Text(f"\n{title}", style="bold"))
    show_table(table)
    return all_stopped


def judge(result: REPLResult, denial: str) -> tuple[bool, str]:
    """Whether a hostile cell was stopped, and the line that says how.

    `denial` is what the first line of its error must look like: silence, a crash, or an error of the
    attempt's own is no denial.
    """
    if hostile.WON in result.stdout:
        return False, result.stdout[:120]
    if result.dropped_bytes:
        kept = (
            f"{len(result.stdout):,} characters kept, {result.dropped_bytes:,} bytes over limits.stdout_bytes dropped"
        )
        return re.match(denial, kept) is not None, kept
    if result.error is None:
        return False, "it ended without an error"
    lines = [line.strip() for line in str(result.error).splitlines() if line.strip()]
    evidence = lines[0] if lines else type(result.error).__name__
    return re.match(denial, evidence) is not None, evidence


if __name__ == "__main__":
    sys.exit(OK if attack_here() else FAILED)
