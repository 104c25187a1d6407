"""Nobody reads "1 turns"."""

from __future__ import annotations

from rlm_secure.plural import counted


def test_one_is_singular_and_every_other_number_plural() -> None:
    assert [counted(number, "model call") for number in (0, 1, 2, 1234)] == [
        "0 model calls", "1 model call", "2 model calls", "1,234 model calls",
    ]  # fmt: skip
