"""The bypass corpus: one file per known way out of a Python language sandbox, kept for ever.

A file has a docstring (what happened, where), ADVISORY ("" where there is no id), GUARANTEE (the promise that the
attack would break), ATTACKS (name -> cell source), and where needed CONTROLS (name -> the same attack written for
plain Python, when its source speaks of our names) and DAMAGE (name -> an expression over real modules that is true
after an attack that poisons instead of stealing).

An attack wins when it leaves something in LOOT that no cell may hold, or when its DAMAGE is true.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.guarantees import Guarantee

FOLDER = Path(__file__).parent / "attacks"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt. `source` is for a cell, `control` for plain Python."""

    file: str
    name: str
    advisory: str
    guarantee: Guarantee
    source: str
    control: str
    damage: str | None

    @property
    def id(self) -> str:
        """`file/name`, for test ids and reports."""
        return f"{self.file}/{self.name}"


def files() -> list[str]:
    """The corpus files, by name."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def load(file: str) -> Iterator[Attack]:
    """The attacks of one file."""
    module = importlib.import_module(f"{__package__}.attacks.{file}")
    controls = getattr(module, "CONTROLS", {})
    damage = getattr(module, "DAMAGE", {})
    if strange := (controls.keys() | damage.keys()) - module.ATTACKS.keys():
        raise ValueError(f"{file}: no such attack: {sorted(strange)}")
    for name, source in module.ATTACKS.items():
        yield Attack(
            file,
            name,
            module.ADVISORY,
            Guarantee(module.GUARANTEE),
            source.lstrip("\n"),
            controls.get(name, source).lstrip("\n"),
            damage.get(name),
        )


def every() -> list[Attack]:
    """The whole corpus."""
    return [attack for file in files() for attack in load(file)]
