"""A Dockerfile as a list of instructions, each with the place of every character."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

from rlm_secure.audit.finding import Location, Unreadable

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+|$)")
#: The start of a here-document, at the beginning of a word, in an instruction that takes one: `"<<EOF"` is plain text.
_HEREDOC = re.compile(r"(?<![^\s0-9])<<-?([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_TAKE_HEREDOCS = ("RUN", "COPY", "ADD")
_DIRECTIVE = re.compile(r"#[ \t]*([A-Za-z]+)[ \t]*=")
_KNOWN = frozenset(
    {
        "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER",
        "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its keyword in capitals, and the text after it with continuation lines joined."""

    keyword: str
    text: str
    location: Location
    starts: tuple[tuple[int, int, int], ...]
    """Where each line of the file begins in `text`: its offset there, its line, and its column in the file."""

    def at(self, offset: int) -> Location:
        """The place of a character of `text`."""
        if not self.text:
            return self.location
        offset = min(offset, len(self.text) - 1)
        start, line, column = self.starts[bisect.bisect_right(self.starts, offset, key=lambda each: each[0]) - 1]
        return Location(self.location.file, line, column + offset - start)


@dataclass(frozen=True, slots=True)
class DockerfileSubject:
    """A Dockerfile."""

    file: str
    instructions: tuple[Instruction, ...]

    def of(self, *keywords: str) -> tuple[Instruction, ...]:
        """The instructions with one of these keywords, in order."""
        return tuple(each for each in self.instructions if each.keyword in keywords)

    @property
    def last_stage(self) -> tuple[Instruction, ...]:
        """The instructions from the last FROM on: those of the final image."""
        start = max((i for i, each in enumerate(self.instructions) if each.keyword == "FROM"), default=0)
        return self.instructions[start:]


def read(text: str, file: str) -> DockerfileSubject:
    """Parse a Dockerfile. Raises Unreadable for a line that is no instruction, and without FROM."""
    # Split as a builder does: other line separators are characters of a line, and do not start an instruction.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    escape = _escape(lines)
    found = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            number += 1
            continue
        match = _INSTRUCTION.match(line)
        if match is None or match[1].upper() not in _KNOWN:
            raise Unreadable("this line is no instruction of a Dockerfile", number + 1)
        start = Location(file, number + 1, match.start(1) + 1)
        parts: list[str] = []
        starts: list[tuple[int, int, int]] = []
        size, column = 0, match.end()
        while True:
            body = line[column:].rstrip()
            continued = body.endswith(escape)
            body = body[:-1] if continued else body
            parts.append(body)
            starts.append((size, number + 1, column + 1))
            size += len(body)
            number += 1
            while continued and number < len(lines) and lines[number].lstrip()[:1] in ("", "#"):
                number += 1  # comments and empty lines inside a continuation are dropped
            if not continued or number >= len(lines):
                break
            line, column = lines[number], 0
        takes = match[1].upper() in _TAKE_HEREDOCS
        for heredoc in _HEREDOC.finditer("".join(parts)) if takes else ():
            while number < len(lines) and lines[number].strip() != heredoc[2]:
                parts += ("\n", lines[number])
                starts.append((size + 1, number + 1, 1))
                size += 1 + len(lines[number])
                number += 1
            number += 1
        found.append(Instruction(match[1].upper(), "".join(parts), start, tuple(starts)))
    if not any(each.keyword == "FROM" for each in found):
        raise Unreadable("there is no FROM; this is no Dockerfile")
    return DockerfileSubject(file, tuple(found))


def _escape(lines: list[str]) -> str:
    """The line continuation character: a backslash, unless a directive at the top changes it."""
    for line in lines:
        match = _DIRECTIVE.match(line)
        if match is None:
            break
        if match[1].lower() == "escape":
            return "`" if line[match.end() :].strip() == "`" else "\\"
    return "\\"
