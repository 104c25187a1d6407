"""What differs from upstream is listed once, with a reason, and the page says what the list says."""

from __future__ import annotations

import pytest

from tests.compat.__main__ import compared
from tests.compat.differences import DOCUMENT, Difference, page, read

LISTED = (Difference("title", "reason", ("tests/a.py::one", "tests/b.py")),)
SKIPPED = (Difference("title", "reason", ("tests/a.py::key",)),)


def test_the_page_is_written_from_the_list() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == page(read(), read("skipped")), "run python -m tests.compat --write"


def test_every_difference_has_a_reason_and_is_listed_once() -> None:
    differences = (*read(), *read("skipped"))
    tests = [test for each in differences for test in each.tests]
    assert len(tests) == len(set(tests))
    assert all(each.title and each.reason.endswith(".") and each.tests for each in differences)


def test_what_is_listed_may_fail_or_not_be_there() -> None:
    outcomes = {"tests/a.py::one": "failed", "tests/b.py::any": "failed", "tests/a.py::two": "passed"}
    assert compared(outcomes, LISTED, SKIPPED) == []
    assert compared({"tests/a.py::two": "passed"}, LISTED, SKIPPED) == []


@pytest.mark.parametrize("test", ["tests/a.py::key", "tests/a.py::one", "tests/b.py", "tests/b.py::any"])
def test_what_is_listed_may_be_skipped(test: str) -> None:
    assert compared({test: "skipped"}, LISTED, SKIPPED) == []


def test_what_needs_a_key_may_pass_where_there_is_one_and_not_fail() -> None:
    assert compared({"tests/a.py::key": "passed"}, LISTED, SKIPPED) == []
    (problem,) = compared({"tests/a.py::key": "failed"}, LISTED, SKIPPED)
    assert problem == "differs, and is not in differences.toml: tests/a.py::key"


def test_a_skip_that_is_not_listed_is_a_problem() -> None:
    (problem,) = compared({"tests/a.py::two": "passed", "tests/a.py::three": "skipped"}, LISTED, SKIPPED)
    assert problem == "is skipped, and is not in differences.toml: tests/a.py::three"


def test_a_difference_that_is_not_listed_is_a_problem() -> None:
    (problem,) = compared({"tests/a.py::two": "failed"}, LISTED, SKIPPED)
    assert problem == "differs, and is not in differences.toml: tests/a.py::two"


def test_a_listed_difference_that_is_none_any_more_is_a_problem() -> None:
    (problem,) = compared({"tests/a.py::one": "passed"}, LISTED, SKIPPED)
    assert problem == "passes, and is in differences.toml: tests/a.py::one"
