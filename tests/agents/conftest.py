"""Tables of these tests are parsed in processes that fork, but for those of tests that ask how such a process starts."""

from __future__ import annotations

import sys

import pytest

import rlm_secure.agents.tables  # noqa: F401  its module `read` has the name of a function there
from tests.servers import parsers

READ = sys.modules["rlm_secure.agents.tables.read"]


@pytest.fixture(autouse=True)
def parser_that_forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is `started` as usual is what the mark of that name asks for."""
    if request.node.get_closest_marker("started") is None:
        monkeypatch.setattr(READ, "_started", READ._started)  # so that it is put back
        parsers.instead(READ)
