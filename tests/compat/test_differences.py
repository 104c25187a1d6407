"""What differs from upstream is listed once, with a reason, and the page says what the list says."""

from __future__ import annotations

from tests.compat.__main__ import compared
from tests.compat.differences import DOCUMENT, Difference, page, read

LISTED = (Difference("title", "reason", ("tests/a.py::one", "tests/b.py")),)


def test_the_page_is_written_from_the_list() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == page(read()), "run python -m tests.compat --write"


def test_every_difference_has_a_reason_and_is_listed_once() -> None:
    differences = read()
    tests = [test for each in differences for test in each.tests]
    assert len(tests) == len(set(tests))
    assert all(each.title and each.reason.endswith(".") and each.tests for each in differences)


def test_what_is_listed_may_fail_or_not_be_there() -> None:
    assert compared({"tests/a.py::one": "failed", "tests/b.py::any": "failed", "tests/a.py::two": "passed"}, LISTED) == []
    assert compared({"tests/a.py::two": "passed", "tests/a.py::three": "skipped"}, LISTED) == []


def test_a_difference_that_is_not_listed_is_a_problem() -> None:
    (problem,) = compared({"tests/a.py::two": "failed"}, LISTED)
    assert problem == "differs, and is not in differences.toml: tests/a.py::two"


def test_a_listed_difference_that_is_none_any_more_is_a_problem() -> None:
    (problem,) = compared({"tests/a.py::one": "passed"}, LISTED)
    assert problem == "passes, and is in differences.toml: tests/a.py::one"
