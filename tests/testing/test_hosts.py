"""What a program of somebody else's hosts says of itself is read as hostile: a module may speak in its place."""

from __future__ import annotations

import pytest

from rlm_secure.testing import foreign

HOSTILE = (
    "1", "[]", "{}", '{"trouble": 1, "address": 1}', '{"trouble": "", "address": "1"}', '{"trouble": "", "address": -1}',
    '{"trouble": "", "address": 1e300}', '{"trouble": "", "address": true}', "", "\xff",
)  # fmt: skip


@pytest.mark.parametrize("said", HOSTILE)
def test_what_no_program_says_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="."):
        foreign._told(said.encode("latin-1"))


def test_what_a_program_says_is_taken() -> None:
    assert foreign._told(b'{"trouble": "no", "address": 5}') == ("no", 5)
