"""Cells in the style that models write: each prints, in a cell, exactly what plain Python prints."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from .cells import Session, plain

FILES = sorted((Path(__file__).parents[1] / "corpus" / "benign").glob("*.py"))


def _context() -> str:
    """A document with headings, prose, addresses and a log; the same every time."""
    dice = random.Random(11)
    users, actions = ["alice", "bob", "carol", "dave"], ["login", "upload", "search", "logout"]
    modules = ["auth.session", "net.http", "disk.cache", "worker.pool"]
    text = [
        "# Operations report", "", "The service ran for two days. Most requests were fast, and a few were not! Who is affected?",
        "Write to ops@example.com, alice.smith@example.com or night-shift@support.example.org for details.", "",
        "## Background", "", "Every request is logged with its user, its action and the time that it took. The disk cache was",
        "replaced on the first day; timeouts became rarer after that. Nothing else changed between the two days.", "",
        "## Log", "",
    ]  # fmt: skip
    clock = 0
    for number in range(240):
        clock += dice.randint(1, 600)
        day, hour, minute, second = 1 + clock // 86_400, clock // 3_600 % 24, clock // 60 % 60, clock % 60
        level = dice.choices(["INFO", "DEBUG", "WARNING", "ERROR"], [60, 20, 12, 8])[0]
        stamp = f"2024-05-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"
        detail = {
            "ERROR": f"request failed after timeout of {dice.randint(1, 9)}s",
            "WARNING": f"slow disk, {dice.randint(1, 99)} blocks pending",
        }.get(level, "request served")
        text.append(
            f"{stamp} {level} [{dice.choice(modules)}] {detail} user={dice.choice(users)} action={dice.choice(actions)} "
            f"status={dice.choice([200, 200, 200, 304, 404, 500])} took {dice.randint(3, 900)}ms bytes={dice.randint(0, 9999)}"
        )
        if number % 60 == 59:
            text += [
                "",
                f"### Block {number // 60 + 1}",
                "",
                f"Sixty more requests were written. The block ends at {stamp}.",
                "",
            ]
    return "\n".join(text)


CONTEXT = _context()


def _names() -> dict[str, Any]:
    """What a session adds to a cell's names, with a model that answers the same every time."""

    def llm_query(prompt: str, model: str | None = None) -> str:
        return f"answer to {len(prompt)} characters from {prompt.splitlines()[0][:30]!r}"

    def llm_query_batched(prompts: list[str], model: str | None = None) -> list[str]:
        return [llm_query(prompt) for prompt in prompts]

    return {
        "context": CONTEXT,
        "llm_query": llm_query,
        "llm_query_batched": llm_query_batched,
        "rlm_query": llm_query,
        "rlm_query_batched": llm_query_batched,
        "SHOW_VARS": lambda: "Available variables: {}",
        "FINAL_VAR": lambda name: name,
        "answer": {"content": "", "ready": False},
    }


def compare(path: Path) -> tuple[str, str]:
    """What a corpus cell prints as plain Python, and what it prints in a session."""
    source = path.read_text(encoding="utf-8")
    session = Session()
    session.space.update(_names())
    expected, _ = plain(source, _names())
    return expected, session.run(source)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_benign_cell_prints_what_plain_python_prints(path: Path) -> None:
    expected, printed = compare(path)
    assert expected.strip()
    assert printed == expected


def test_the_corpus_is_large_and_its_pass_rate_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    passed = []
    for path in FILES:
        try:
            expected, printed = compare(path)
        except Exception:
            continue
        passed.append(printed == expected)
    with capsys.disabled():
        print(f"\nbenign corpus: {sum(passed)} of {len(FILES)} cells pass ({sum(passed) / len(FILES):.1%})")
    assert len(FILES) >= 150
    assert sum(passed) == len(FILES)
