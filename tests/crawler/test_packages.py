"""The crawler among numpy, pandas and matplotlib: nothing that no cell may hold is within reach of what they hand out."""

from __future__ import annotations

import re

import pytest

from .test_crawler import MAIN, run

#: One call of each function, with the first arguments that it takes; or all of them.
EFFORT = [(), pytest.param(("--thorough",), marks=pytest.mark.exhaustive)]


if MAIN:  # the packages are the same on every Python

    @pytest.mark.timeout(1000)
    @pytest.mark.parametrize("more", EFFORT, ids=["once", "thorough"])
    def test_nothing_that_no_cell_may_hold_is_within_reach_of_a_package(more: tuple[str, ...]) -> None:
        done = run("--policy", "data", "--only", "packages", "--at-once", "--shrink", "0", *more)
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
        assert int(re.search(r"(\d+) callables", done.stdout)[1]) > 8000, done.stdout  # type: ignore[index]
