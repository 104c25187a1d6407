"""The attack corpus: one file in sandboxes/attacks is one attempt on one guarantee.

An attack is plain Python, run as a cell. Its docstring is its header:

    one line that states what it tries

    guarantee: no-host-files
    layer: kernel
    wins: reveals
    outcome: harmless

and, where they apply, `needs:` (what a session must have for the attack to make sense), `reference:` (its source),
`control:` (why its control cannot win on every machine) and `bomb:` (text that replaces the name BOMB, such as
`'(' * 5000 + '1' + ')' * 5000`). A comment line `# next cell` starts another cell of the same session. The dict TARGET
(target.py) lists what it may attack; when it succeeds, it prints a line that starts with WON.

`outcome` is the worst that it does if it wins as root without any wall. No attack binds, covers, unmounts, renames,
reboots, swaps, loads or kills anything but what its target planted: it proves that it could, with arguments that the
kernel refuses only after it has checked the caller's privileges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rlm_secure import files
from rlm_secure.guarantees import Guarantee
from rlm_secure.resources import sandboxes_dir


class Layer(StrEnum):
    """The layer that an attack tests. KERNEL ones need plain Python: they run without the language layer."""

    KERNEL = "kernel"
    LANGUAGE = "language"
    BOTH = "both"


class Win(StrEnum):
    """The evidence that an attack won. All but PRINTS and REFLECTS are observed from outside."""

    REVEALS = "reveals"
    """A secret of the target is in the output."""
    PRINTS = "prints"
    """It printed a line that starts with WON."""
    REFLECTS = "reflects"
    """As PRINTS where there is a language layer; without one, only effects outside the session count."""
    CONNECTS = "connects"
    """A listener of the target received a connection or data from it."""
    WRITES = "writes"
    """The target's directory has changed."""
    SIGNALS = "signals"
    """The target's bystander, another process of the same user, got a signal."""
    OUTLASTS = "outlasts"
    """It still ran after its time limit and the grace period."""
    REMAINS = "remains"
    """A process or a file of it was left after its session had ended."""
    FLOODS = "floods"
    """More output than the cap arrived in the host, or the host used far more memory than that output needs."""
    BREAKS = "breaks"
    """The host that ran it failed: an untyped error, a crash, or no answer in time."""


class Harm(StrEnum):
    """The worst that an attack does if it wins as root without any wall."""

    HARMLESS = "harmless"
    """It changes only what its target planted and attributes of its own process."""
    OWN_TREE = "kills its own process tree"
    """The process that runs it dies, hangs, or can no longer be trusted."""
    NAMESPACE = "changes this namespace"
    """It leaves lasting changes on the machine: it must not be run without an arena."""


class Need(StrEnum):
    """What a session must have for an attack to make sense there."""

    CHANNEL = "channel"
    """Our worker behind descriptor 3."""
    ANSWER = "answer"
    """The variable `answer`."""
    LLM_QUERY = "llm_query"
    """That function."""
    CTYPES = "ctypes"
    """Calls into the C library."""
    VARIABLES = "variables"
    """A host that reports the variables that a cell bound; only ours does."""


class Excuse(StrEnum):
    """Why the control of an attack may lose; such an attack is then reported as not checked."""

    NOTHING = ""
    ROOT = "root"
    """It needs privileges that, even without walls, only uid 0 has."""
    MACHINE = "machine"
    """It needs a kernel feature, a processor or a Python version that not every machine has."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack. `cells` are run in order in one session; `excuse` and `reason` concern its control."""

    name: str
    summary: str
    guarantee: Guarantee
    layer: Layer
    wins: Win
    harm: Harm
    cells: tuple[str, ...]
    needs: frozenset[Need] = frozenset()
    reference: str = ""
    excuse: Excuse = Excuse.NOTHING
    reason: str = ""


_E = TypeVar("_E", bound=StrEnum)

_HEADER = re.compile(r'\A"""(?P<summary>[^\n]+)\n\n(?P<fields>.*?)\n?"""\n(?P<body>.*)\Z', re.DOTALL)
_FIELD = re.compile(r"(?P<key>[a-z]+): (?P<value>.+)")
_CONTROL = re.compile(r"(?P<excuse>root|machine) - (?P<reason>.{8,})")
_TERM = re.compile(r"'(?P<text>[^']+)'(?: \* (?P<count>\d{1,7}))?")
_BOMB = re.compile(r"\bBOMB\b")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_FILE_BYTES = 1 << 20
_REQUIRED = ("guarantee", "layer", "wins", "outcome")
_OPTIONAL = ("needs", "reference", "control", "bomb")
_NEXT_CELL = re.compile(r"^# next cell\n", re.MULTILINE)


def load(directory: Path | None = None) -> tuple[Attack, ...]:
    """Every attack in `directory` (the shipped corpus by default), sorted by name.

    Files whose names start with "_" are not attacks. Raises ValueError that names the malformed file.
    """
    directory = directory or sandboxes_dir() / "attacks"
    paths = [path for path in directory.glob("*.py") if not path.name.startswith("_")]
    return tuple(parse(path.stem, _text(path)) for path in sorted(paths, key=lambda path: path.stem))


def _text(path: Path) -> str:
    """The text of an attack file. Raises ValueError that names it; never blocks on a pipe or a device."""
    try:
        return files.read(path, _FILE_BYTES).decode("utf-8")
    except OSError as error:
        raise ValueError(f"attack {path.stem}: {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"attack {path.stem}: {str(path)!r} is not UTF-8") from None


def own(directory: Path) -> tuple[Attack, ...]:
    """The attacks in a user's `directory`, written like the shipped ones and run beside them.

    Raises ValueError for a malformed file, a directory without attacks, a name with characters other than letters,
    digits, "-", "_" and ".", and a name that the shipped corpus uses.
    """
    for path in sorted(directory.glob("*.py")):
        if not _NAME.fullmatch(path.stem):
            raise ValueError(f"{path.stem!a} is no name of an attack; use letters, digits, '-', '_' and '.'")
    attacks = load(directory)
    if not attacks:
        raise ValueError(f"{str(directory)!r} has no attack; an attack is a file NAME.py, see sandboxes/attacks")
    for name in sorted({attack.name for attack in attacks} & {attack.name for attack in load()}):
        raise ValueError(f"attack {name}: the shipped corpus has one of that name; rename {str(directory / name)!r}.py")
    return attacks


def parse(name: str, text: str) -> Attack:
    """Parse `text` as an attack. Raises ValueError that names `name` and the error."""
    header = _HEADER.match(text)
    if header is None:
        raise ValueError(f"attack {name}: it must start with a docstring of a summary, an empty line and fields")
    fields: dict[str, str] = {}
    for line in header["fields"].splitlines():
        field = _FIELD.fullmatch(line)
        if field is None or field["key"] not in _REQUIRED + _OPTIONAL or field["key"] in fields:
            known = ", ".join(_REQUIRED + _OPTIONAL)
            raise ValueError(f"attack {name}: {line!r} is not one of the fields {known}, once each, as `key: value`")
        fields[field["key"]] = field["value"]
    for key in _REQUIRED:
        if key not in fields:
            raise ValueError(f"attack {name}: the field {key!r} is missing")
    excuse, reason = Excuse.NOTHING, ""
    if "control" in fields:
        control = _CONTROL.fullmatch(fields["control"])
        if control is None:
            raise ValueError(f"attack {name}: control must be `root - reason` or `machine - reason`")
        excuse, reason = Excuse(control["excuse"]), control["reason"]
    body = header["body"]
    if "bomb" in fields:
        body = _expand(name, fields["bomb"], body)
    return Attack(
        name=name,
        summary=header["summary"],
        guarantee=_member(name, Guarantee, fields["guarantee"]),
        layer=_member(name, Layer, fields["layer"]),
        wins=_member(name, Win, fields["wins"]),
        harm=_member(name, Harm, fields["outcome"]),
        cells=tuple(_NEXT_CELL.split(body)),
        needs=frozenset(_member(name, Need, each) for each in fields["needs"].split(", "))
        if "needs" in fields
        else frozenset(),
        reference=fields.get("reference", ""),
        excuse=excuse,
        reason=reason,
    )


def for_layer(attacks: Iterable[Attack], *, screened: bool) -> tuple[Attack, ...]:
    """The attacks that make sense in a session: all of them, but KERNEL ones only without a language layer."""
    return tuple(attack for attack in attacks if not screened or attack.layer is not Layer.KERNEL)


def _member(name: str, kind: type[_E], value: str) -> _E:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"attack {name}: {value!r} is none of {', '.join(kind)}") from None


def _expand(name: str, bomb: str, body: str) -> str:
    """`body` with each BOMB replaced. A few bytes can stand for gigabytes, so the size is known before any is made."""
    terms: list[tuple[str, int]] = []
    for term in bomb.split(" + "):
        match = _TERM.fullmatch(term)
        if match is None:
            raise ValueError(f"attack {name}: {term!r} in bomb is not `'text'` or `'text' * count`")
        terms.append((match["text"], int(match["count"] or 1)))
    size = len(_BOMB.findall(body)) * sum(len(text) * count for text, count in terms)
    if size > _FILE_BYTES:
        raise ValueError(f"attack {name}: its bomb makes {size:,} characters of cells; use at most {_FILE_BYTES:,}")
    return _BOMB.sub(lambda _: "".join(text * count for text, count in terms), body)
