"""Text that a model wrote, read leniently: without its thoughts, as JSON, or as code.

Models put prose around JSON, write Python's literals in it, forget quotation marks and leave commas behind. What is
meant is written anew as strict JSON, and `untrusted_json.loads` alone makes values of it, with its limits. Every
function accepts any text, never raises because of it, and takes time proportional to its length. No text is parsed or
run as Python.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.rlm.parsing import python_blocks
from rlm_secure.untrusted_json import MAX_DEPTH, MalformedJson, loads

_THOUGHTS: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|reflection)\s*+>", re.IGNORECASE)

_OPENER: Final = re.compile(r"[\[{]")
_CLOSER: Final = {"{": "}", "[": "]"}
_SPACE: Final = re.compile(r"\s*+")
_LINE: Final = re.compile(r"[^\n]*+")
#: What may stand before a value that is the first thing in a text: the opening line of a fence.
_LEAD: Final = re.compile(r"\s*+(?:```[^\S\n]*+\w*+[^\S\n]*+\n\s*+)?")
_LINE_IS_OVER: Final = re.compile(r"[^\S\n]*+(?:\n|```|\Z)")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*+")
_NUMBER: Final = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eE][+-]?[0-9]++)?(?![\w.])")
_WORDS: Final = {"true": "true", "false": "false", "null": "null", "none": "null"}

#: What may end a string, or begins an escape in it, by the mark that begins it. No single expression finds the end:
#: Python before 3.11.5 is wrong about possessive groups that look ahead (gh-106052).
_STOPS: Final = {
    '"""': re.compile(r'\\.|"""', re.DOTALL),
    "'''": re.compile(r"\\.|'''", re.DOTALL),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile(r"\\.|'", re.DOTALL),
    "\u201c": re.compile("\\\\.|[\u201c\u201d]", re.DOTALL),
    "\u2018": re.compile("\\\\.|[\u2018\u2019]", re.DOTALL),
}
#: Marks that are apostrophes as well: they end a string only before what may follow a value.
_APOSTROPHES: Final = ("'", "\u2018")
_FOLLOWS: Final = re.compile(r"\s*+(?:[,:}\]#`]|//|\Z)")
_ALIKE: Final = {"\u201d": "\u201c", "\u201e": "\u201c", "\u2019": "\u2018", "\u201a": "\u2018"}
_PIECE: Final = re.compile(r'\\u[0-9a-fA-F]{4}|\\.|["\x00-\x1f]', re.DOTALL)

#: How a line of Python begins at the margin; a sentence begins otherwise, or does not end as these do.
_STATEMENT: Final = re.compile(
    r"[#@)\]}\"'(\[{]"
    r"|[^\W\d]\w*+(?:[ \t]*+(?:[=.(\[,]|:(?!\s*+\Z)[^=\n]*+=|(?:[-+*/%&|^@]|//|\*\*|<<|>>)=)|\Z)"
    r"|from\s++\S++\s++import\b|import\s++[\w.]++(?:\s*+(?:,|\Z)|\s++as\b)"
    r"|(?:assert|del|global|raise|return)\s.*+(?<![.!?])\Z"
    r"|(?:async|class|def|elif|else|except|finally|for|if|match|try|while|with)\b.*+(?<=:)\s*+\Z"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value in a text: `text[begin:end]`."""

    value: Any
    begin: int
    end: int


class _Broken(Exception):
    """The text at index `at` is not how a JSON value goes on."""

    def __init__(self, at: int) -> None:
        self.at = at


def without_thoughts(text: str) -> str:
    """`text` without what stands in <think>, <thinking>, <reasoning> and <reflection>, stripped.

    Thoughts that are never closed reach to the end; those before a closing tag that nothing opened, to the beginning.
    """
    kept: list[str] = []
    at = 0
    inside = False
    for tag in _THOUGHTS.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            inside, at = False, tag.end()
        elif not inside:
            kept.append(text[at : tag.start()])
            inside = True
    if not inside:
        kept.append(text[at:])
    return "".join(kept).strip()


def first_json(text: str, *, at: int = 0) -> Found | None:
    """The first object or list in `text` from index `at` on, or the text, number or constant that begins there.

    The latter counts only if nothing else stands on the line where it ends. Accepted are prose and fences around it,
    trailing commas, comments, single, triple and typographic quotation marks, line breaks in strings, keys without
    quotation marks, and True, False and None. None where there is no value, or one beyond the limits of untrusted_json.

    A value that is broken is skipped up to where it breaks, so that nothing is read twice.
    """
    reader = _Reader(text)
    lead = _LEAD.match(text, at)
    begin = lead.end() if lead is not None else at
    if begin < len(text) and text[begin] not in _CLOSER:
        found, end = reader.read(begin)
        if found is not None and _LINE_IS_OVER.match(text, end):
            return found
    while opener := _OPENER.search(text, begin):
        found, begin = reader.read(opener.start())
        if found is not None:
            return found
    return None


def code_of(text: str) -> str | None:
    """The code in a reply: its last block of Python, else the last block without a mark, else all of it if it looks so.

    Blocks are closed fences of Markdown; a reply that ends within one has no whole code.
    """
    blocks = python_blocks(text)
    if blocks:
        return blocks[-1]
    bare = text.strip()
    if not bare or "```" in bare or "~~~" in bare:
        return None
    lines = [line for line in bare.splitlines() if line[:1].strip()]
    return bare if all(_STATEMENT.match(line) for line in lines) else None


class _Reader:
    """Reads values of one text, each character a bounded number of times."""

    def __init__(self, text: str) -> None:
        self._text = text
        #: Marks whose string or comment has no end from here on: looking again would take the whole text again.
        self._endless: set[str] = set()

    def read(self, begin: int) -> tuple[Found | None, int]:
        """The value at `begin`, or None; and the index at which it ends, or from which to look for another."""
        try:
            strict, end = self._document(begin)
        except _Broken as broken:
            return None, max(broken.at, begin + 1)
        try:
            return Found(loads(strict), begin, end), end
        except MalformedJson:
            return None, end

    def _document(self, begin: int) -> tuple[str, int]:
        """The value at `begin` as strict JSON, and where it ends. Raises _Broken."""
        made: list[str] = []
        closers: list[str] = []
        comma, wanted, at = "", "value", begin
        while True:
            at = self._blank(at)
            mark = self._text[at : at + 1]
            if closers and mark == closers[-1] and wanted in ("next", "item", "key"):
                made.append(closers.pop())
                at += 1
            elif wanted == "next":
                if mark != ",":
                    raise _Broken(at)
                comma, wanted, at = ",", "key" if closers[-1] == "}" else "item", at + 1
                continue
            elif wanted == "colon":
                if mark != ":":
                    raise _Broken(at)
                made.append(mark)
                comma, wanted, at = "", "value", at + 1
                continue
            elif wanted == "key":
                key, at = self._key(at)
                made.append(comma + key)
                wanted = "colon"
                continue
            elif mark and mark in _CLOSER:
                if len(closers) == MAX_DEPTH:
                    raise _Broken(at)
                made.append(comma + mark)
                closers.append(_CLOSER[mark])
                comma, wanted, at = "", "key" if mark == "{" else "item", at + 1
                continue
            else:
                value, at = self._scalar(at)
                made.append(comma + value)
            if not closers:
                return "".join(made), at
            comma, wanted = "", "next"

    def _blank(self, at: int) -> int:
        """Where white space and comments end that begin at `at`. Raises _Broken at a comment that does not end."""
        while True:
            at = _end(_SPACE.match(self._text, at), at)
            if self._text.startswith(("//", "#"), at):
                at = _end(_LINE.match(self._text, at), at)
            elif self._text.startswith("/*", at) and "/*" not in self._endless:
                end = self._text.find("*/", at + 2)
                if end < 0:
                    self._endless.add("/*")
                    raise _Broken(at)
                at = end + 2
            else:
                return at

    def _key(self, at: int) -> tuple[str, int]:
        name = _NAME.match(self._text, at)
        return (json.dumps(name[0]), name.end()) if name is not None else self._string(at)

    def _scalar(self, at: int) -> tuple[str, int]:
        name = _NAME.match(self._text, at)
        if name is not None:
            word = _WORDS.get(name[0].lower())
            if word is None:
                raise _Broken(at)
            return word, name.end()
        number = _NUMBER.match(self._text, at)
        if number is not None and (number[2] or number[3]):
            sign, whole, part, power = number.groups()
            if len(whole) > 1 and whole[0] == "0":
                raise _Broken(at)  # 007 is no number
            fraction = "" if part is None else f".{part or '0'}"
            return f"{sign.strip('+')}{whole or '0'}{fraction}{power or ''}", number.end()
        return self._string(at)

    def _string(self, at: int) -> tuple[str, int]:
        mark = self._text[at : at + 3]
        if mark not in _STOPS:
            mark = _ALIKE.get(mark[:1], mark[:1])
        if mark not in _STOPS or mark in self._endless:
            raise _Broken(at)
        begin = at + len(mark)
        for stop in _STOPS[mark].finditer(self._text, begin):
            if stop[0][0] == "\\" or (mark in _APOSTROPHES and not _FOLLOWS.match(self._text, stop.end())):
                continue
            return f'"{_PIECE.sub(_strict, self._text[begin : stop.start()])}"', stop.end()
        self._endless.add(mark)
        raise _Broken(begin)


def _strict(piece: re.Match[str]) -> str:
    """One escape, quotation mark or control character of a string, as strict JSON writes it."""
    said = piece[0]
    if len(said) != 2:
        return said if len(said) > 2 else json.dumps(said)[1:-1]
    if said[1] in '"\\/bfnrt':
        return said
    if said[1] == "\n":
        return ""  # as Python goes on with a string on the next line
    kept = json.dumps(said[1])[1:-1]
    return kept if said[1] in "'\u2018\u2019\u201c\u201d" else f"\\\\{kept}"


def _end(match: re.Match[str] | None, at: int) -> int:
    return at if match is None else match.end()
