"""What the tests of growth share."""

from __future__ import annotations

import pytest

from tests.growth import cost


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two measurements are all that there are, and half a second is without end.

    For controls: what is planted looks wrong in each measurement. More of them, at five times the size, cost seconds and
    are there for what is right and only looks wrong on a busy machine.
    """
    monkeypatch.setattr(cost, "_TIMES", cost._TIMES[:2])
    monkeypatch.setattr(cost, "LONGEST", 0.5)
