"""`rlm-secure demo`: a real long-context task, then attacks on the walls. Offline; nothing is set up for it.

The text is this machine's own standard library, the model is the `scripted` backend: its turns are written
down below, as a model would write them, and its sub-model is a function that reads the prompts it is given.
The answer is then computed a second time in plain Python, without any of this, and compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sysconfig
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from rlm_secure.cli import hostile, options
from rlm_secure.cli.terminal import FAILED, OK, inert, report

if TYPE_CHECKING:
    from rlm_secure import REPLResult, RLMChatCompletion

DETAILS = """\
Uses no network and no key. Ends with exit code 0 only when the answer was right and every attack failed.

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
    from rlm_secure import RLM, RLMLogger

    console = report()
    root = Path(sysconfig.get_path("stdlib"))
    sources = read_sources(root)
    size = sum(map(len, sources.values()))
    console.print(Text(f"context:  {len(sources):,} files, {size:,} characters, from {root}"))
    console.print(Text(f"question: {QUESTION}"))
    console.print(
        Text("model:    the scripted backend (offline); its cells run in a local session, policy strict")
    )
    started = time.perf_counter()
    with RLM(
        backend="scripted",
        backend_kwargs={"turns": [turn.replace("ASK", json.dumps(ASK)) for turn in TURNS], "replies": reader},
        environment="local",
        policy="strict",
        logger=RLMLogger(),
    ) as rlm:
        completion = rlm.completion(sources, root_prompt=QUESTION)
    seconds = time.perf_counter() - started
    _show_turns(completion)
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
                end = next(
                    (at for at, char in enumerate(rest) if not (char.isalnum() or char in "_.")), len(rest)
                )
                total[rest[:end]] += 1
    name, lines = total.most_common(1)[0]
    return f"{name}, on {lines:,} lines"


def _show_turns(completion: RLMChatCompletion) -> None:
    console = report()
    for number, iteration in enumerate((completion.metadata or {}).get("iterations", ()), start=1):
        for block in iteration["code_blocks"]:
            output = block["result"]["stdout"] + block["result"]["stderr"]
            console.print(Text(f"\nturn {number}: the model's cell printed", style="bold"))
            console.print(
                Text(textwrap.indent(inert(output.rstrip()) or "(nothing: it gave its answer)", "  "))
            )


def attack_the_walls() -> bool:
    """Every hostile cell in its own session. True when all were stopped."""
    from rlm_secure import Sandbox
    from rlm_secure.testing import unscreened

    console = report()
    console.print(Text("\nattacks, through the whole sandbox (policy strict):", style="bold"))
    outcomes = [_show(hostile.LANGUAGE, Sandbox, None)]
    console.print(
        Text("\nattacks in plain Python with ctypes, the language layer switched off:", style="bold")
    )
    outcomes.append(_show(hostile.KERNEL, unscreened, None))
    console.print(Text("\ngreed (one second each):", style="bold"))
    outcomes.append(_show(hostile.LIMITS, Sandbox, 1.0))
    return all(outcomes)


def _show(attempts: Iterable[hostile.Attempt], start: Callable[[], object], seconds: float | None) -> bool:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column()
    all_stopped = True
    for attempt in attempts:
        with start() as session:  # type: ignore[attr-defined]
            result: REPLResult = session.run(attempt.code, timeout=seconds)
        stopped, evidence = judge(result)
        all_stopped = all_stopped and stopped
        table.add_row(
            Text("stopped" if stopped else "WON", style="green" if stopped else "bold red"),
            Text(attempt.wall, style="dim"),
            Text(attempt.aim),
            Text(inert(evidence)),
        )
    report().print(table)
    return all_stopped


def judge(result: REPLResult) -> tuple[bool, str]:
    """Whether a hostile cell was stopped, and the line that says how. Silence is not a denial."""
    if hostile.WON in result.stdout:
        return False, result.stdout[:120]
    if result.error is not None:
        lines = [line for line in str(result.error).splitlines() if line.strip()]
        return True, lines[0].strip() if lines else type(result.error).__name__
    if result.dropped_bytes:
        return True, f"{len(result.stdout):,} characters kept, {result.dropped_bytes:,} bytes dropped"
    return False, "it ended without an error"
