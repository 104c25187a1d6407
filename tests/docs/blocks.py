"""The fenced blocks of README.md and of the site's pages, and what each promises.

    <!-- test
    needs: [openai]
    reply: "42"
    -->
    ```python
    print(answer)  # 42
    ```

A comment before a block says what the machine of its reader has (`needs`: tests/docs/needs.py), what a model replies there
(`reply`: one text or a list of them), which `files` lie in the folder, and with which code it ends (`exit`, 0 by default).
The site does not show it. A block with a `title` is a file for the others of its page: it is not run by itself.

A program prints what the comments after `print(...)` say, or what a `text` block right below it says; where `...` stands,
anything may be.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "pages"
DOCUMENTS = (ROOT / "README.md", *sorted(SITE.rglob("*.md")))
#: What a block may be written in. Anything else is a word that was mistyped.
LANGUAGES = frozenset({"python", "console", "shell", "text", "toml", "yaml", "json", "dockerfile", "ini", "repl"})

_BLOCK = re.compile(
    r"(?:^[ ]*<!-- test\n(?P<test>.*?)^[ ]*-->\n+)?"
    r"^(?P<indent>[ ]*)```(?P<language>[\w-]*)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Test:
    """What a comment says of the block below it."""

    needs: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    exit: int = 0
    __test__ = False  # it is none of pytest's


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    document: Path
    line: int
    language: str
    title: str
    text: str
    test: Test
    below: str | None
    """The `text` block right below it."""

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    def printed(self) -> str:
        """What the program prints."""
        if self.below is not None:
            return self.below
        lines = re.findall(r"^ *print\(.*?\)  # (.*)$", self.text, re.MULTILINE)
        return "".join(f"{line}\n" for line in lines)

    def commands(self) -> list[tuple[str, str]]:
        """The `$ command` lines of a console block, each with the output below it."""
        parts = re.split(r"^\$ ((?:.*\\\n)*.+)$\n?", self.text, flags=re.MULTILINE)[1:]
        return list(zip(parts[::2], parts[1::2], strict=True))


def read(document: Path) -> list[Block]:
    """Every fenced block of a document. Raises ValueError for one that is written wrong."""
    text = document.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))
    blocks = []
    for match, after in zip_longest(found, found[1:]):
        line = text.count("\n", 0, match.start("language")) + 1
        if match["language"] not in LANGUAGES:
            raise ValueError(f"{document}:{line}: a block of {match['language']!r}; there are {', '.join(sorted(LANGUAGES))}")
        title = re.search(r'title="([^"]+)"', match["options"])
        near = after is not None and after["language"] == "text" and not text[match.end() : after.start("indent")].strip()
        blocks.append(
            Block(
                document=document,
                line=line,
                language=match["language"],
                title=title[1] if title else "",
                text=textwrap.dedent(match["text"]),
                test=_test(match["test"]),
                below=textwrap.dedent(after["text"]) if after is not None and near and not after["test"] else None,
            )
        )
    fences = len(re.findall(r"^ *```(?:\w[^`\n]*)?$", text, re.MULTILINE))
    if fences != 2 * len(found) + sum((match["test"] or "").count("```") for match in found):
        raise ValueError(f"{document} has {fences} fences and {len(found)} blocks; close each")
    return blocks


def _test(text: str | None) -> Test:
    said = yaml.safe_load(textwrap.dedent(text)) if text else {}
    if unknown := sorted(set(said) - {"needs", "reply", "files", "exit"}):
        raise ValueError(f"a comment of a block says {unknown[0]!r}; it may say needs, reply, files and exit")
    needs, replies = (value if isinstance(value, list) else [value] for value in (said.get("needs", []), said.get("reply", [])))
    return Test(tuple(needs), tuple(replies), tuple(said.get("files", {}).items()), said.get("exit", 0))


def fits(printed: str, promised: str) -> bool:
    """Whether what was printed is what was promised; `...` in it is any text."""
    pattern = ".*".join(map(re.escape, promised.rstrip().split("...")))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


def lay_out(blocks: Sequence[Block], block: Block, folder: Path) -> None:
    """Put the files that a block finds into its folder: those that its page titles, and its own."""
    titled = [(each.title, each.text) for each in blocks if each.title]
    for name, text in [*titled, *block.test.files]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
