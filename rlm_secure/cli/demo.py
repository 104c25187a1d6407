"""`rlm-secure demo`: a real long-context task, then attacks on the walls. Offline; needs no setup.

The text is this machine's standard library, the model is the `scripted` backend: its turns are written
below, as a model would write them, and its sub-model is a function that processes the prompts.
The answer is then computed a second time in plain Python, without model or sandbox, and compared.
"""

from __future__ import annotations

import argparse
import json
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
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rlm_secure.cli import options
from rlm_secure.cli.terminal import FAILED, OK, inert, report, show_table
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure import Sandbox
    from rlm_secure.events import Event
    from rlm_secure.policy import Policy
    from rlm_secure.testing import Unscreened
    from rlm_secure.testing.target import Target

DETAILS = """\
Uses no network and no key; the attacks run in an arena (rlm-secure arena --help). Ends with exit code 0 only when
the answer was right and every attack failed.

exit codes:
  0  the answer was right, and no attack got through
  1  it was not, or one did
  2  could not run: a wall cannot be built here (see rlm-secure doctor)
  130  interrupted"""

QUESTION = "Which exception do the sources raise most often, on how many lines that begin with `raise`?"
ASK = "Count the exceptions raised in this Python source. Answer with a JSON object: name -> lines.\n\n"

#: The turns of the scripted model.
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

#: The attacks shown, by their names in sandboxes/attacks, which has hundreds. These are what an attacker tries first:
LANGUAGE = (
    "builtin-open", "import-of-os", "builtin-import", "subclasses-of-object", "format-of-an-attribute",
    "frame-of-a-generator", "walk-to-json-codecs-builtins", "builtin-eval",
)  # fmt: skip
#: System calls, without the language layer: most are blocked by seccomp.
KERNEL = (
    "open-of-a-host-file", "listing-of-the-root", "creat-in-a-host-directory", "environment-by-getenv",
    "scan-of-all-descriptors", "socket-of-family-inet", "socket-of-family-unix", "fork-by-the-c-library",
    "execve-of-a-shell", "kill-of-another-process", "mount-of-a-host-directory", "code-in-writable-memory",
)  # fmt: skip
#: (walls that are switched off in addition to the language layer, an attack): the walls behind seccomp.
BEHIND = (
    (("seccomp",), "listing-of-the-root"),
    (("seccomp", "landlock"), "open-of-a-host-file"),
    (("seccomp",), "datagram-to-a-loopback-port"),
    (("seccomp",), "kill-of-another-process"),
    (("seccomp",), "fork-by-the-c-library"),
    (("seccomp",), "mount-of-a-host-directory"),
    (("seccomp",), "user-namespace-of-its-own"),
    (("seccomp",), "code-in-writable-memory"),
)
GREED = ("loop-for-ever", "sum-of-a-huge-range", "text-of-twice-the-memory", "print-of-a-hundred-megabytes")


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
        console.print(Text("demo: the answer is right, and no attack got through", style="bold green"))
        return OK
    failed = "the answer is wrong" if not right else "an attack got through"
    console.print(Text(f"demo: FAILED: {failed}", style="bold red"))
    return FAILED


def answer_a_question() -> bool:
    """Run the task with the scripted model and compare with plain Python. True if they agree."""
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
            f"{counted(calls, 'model call')}, {usage.total_input_tokens:,} tokens in (estimated), {seconds:.1f} s",
            style="dim",
        )
    )
    return right


def read_sources(root: Path) -> dict[str, str]:
    """Every Python source of the standard library below `root`, by relative path."""
    sources = {}
    for path in sorted(root.rglob("*.py")):  # of the interpreter that runs this, which we trust
        if not {"site-packages", "dist-packages"} & set(path.parts):
            sources[path.relative_to(root).as_posix()] = path.read_bytes().decode("utf-8", errors="replace")
    return sources


def reader(prompt: str) -> str:
    """The scripted sub-model: counts the exceptions raised in the source that the prompt contains."""
    names = re.findall(r"^[ \t]*raise[ \t]+([A-Za-z_][\w.]*)", prompt.removeprefix(ASK), re.MULTILINE)
    return json.dumps(Counter(names))


def plain_answer(texts: Iterable[str]) -> str:
    """The right answer, computed line by line in plain Python: no model, no sandbox, no chunks."""
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
    """Run every hostile cell in its own session, in an arena. True if all were stopped."""
    from rlm_secure.testing import arena

    if not arena.outside():
        return attack_here()
    terminal = report().is_terminal
    program = "import sys; from rlm_secure.cli import demo; sys.exit(not demo.attack_here())"
    command = [sys.executable, "-P", "-c", program]  # -m would import this module twice, and say so
    with arena.Arena().start(command, stdout=None if terminal else subprocess.PIPE) as running:
        if running.process.stdout is not None:
            report().file.write(running.process.stdout.read().decode("utf-8", "replace"))
        return running.wait() == OK


def attack_here() -> bool:
    """As attack_the_walls(), in this process."""
    from rlm_secure import Sandbox
    from rlm_secure.environments.local.zygote import Plan
    from rlm_secure.testing import judge, unscreened
    from rlm_secure.testing.target import Target

    policy = judge.policy("strict")  # with low limits, so that resource attacks end soon
    plain = partial(unscreened, policy=policy)

    def off(walls: Sequence[str]) -> Any:
        return dict.fromkeys(walls, False)

    with Target() as target:
        attacks = _Attacks(policy, target)
        outcomes = [
            attacks.show(
                "attacks through the whole sandbox, policy strict: the language layer answers first",
                [(partial(Sandbox, policy=policy), name) for name in LANGUAGE],
            ),
            attacks.show(
                "the language layer switched off: plain Python with ctypes against the kernel walls",
                [(plain, name) for name in KERNEL],
            ),
            attacks.show(
                "more walls switched off: what is behind them",
                [(partial(plain, plan=Plan(**off(without))), name) for without, name in BEHIND],
                without=[f"without {', '.join(without)}" for without, _ in BEHIND],
            ),
            attacks.show(
                f"greed, for {policy.limits.cell_seconds:g} s each",
                [(partial(Sandbox, policy=policy), name) for name in GREED],
            ),
        ]
    return all(outcomes)


class _Attacks:
    """Attacks of the corpus, each run once and judged from outside the sandbox."""

    def __init__(self, policy: Policy, target: Target) -> None:
        from rlm_secure.testing import corpus

        self._policy = policy
        self._corpus = {attack.name: attack for attack in corpus.load()}
        self._target = target

    def show(
        self,
        title: str,
        attempts: Sequence[tuple[Callable[[], Sandbox | Unscreened], str]],
        *,
        without: Sequence[str] = (),
    ) -> bool:
        """Run the attacks and show each result. True if all were stopped."""
        from rlm_secure.testing import judge

        table = Table(box=None, pad_edge=False, show_header=False)
        for _ in range(3 if without else 2):
            table.add_column(no_wrap=True)
        table.add_column()
        all_stopped = True
        for number, (start, name) in enumerate(attempts):
            attack = self._corpus[name]
            verdict = judge.attempt(attack, start, self._target, self._policy, afterwards=False)
            all_stopped = all_stopped and verdict.held
            table.add_row(
                Text(verdict.result, style="green" if verdict.held else "bold red"),
                Text(name),
                *([Text(without[number], style="dim")] if without else []),
                Text(inert(verdict.evidence), style="dim"),
            )
        report().print(Text(f"\n{title}", style="bold"))
        show_table(table)
        return all_stopped

