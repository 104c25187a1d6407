"""Numbers with their nouns, as people write them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`number` of a noun whose plural ends in s: "1 turn", "0 turns", "1,000 turns"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
