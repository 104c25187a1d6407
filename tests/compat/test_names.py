"""The page of upstream's names says what upstream has, and what becomes of it here."""

from __future__ import annotations

import inspect
import json

import pytest

from rlm_secure import RLM
from rlm_secure.environments.registry import create_environment
from tests.compat import names
from tests.docs.needs import packages

HAS = names.kept()


def test_the_page_is_written_from_the_lists() -> None:
    assert names.DOCUMENT.read_text(encoding="utf-8") == names.page(), "run python -m tests.compat --write"


def test_what_is_kept_is_what_the_package_has() -> None:
    assert json.loads(json.dumps(names.read(packages("rlms")))) == HAS, "run python -m tests.compat --write"


def test_every_parameter_of_upstream_is_ours_in_its_order_and_has_a_note() -> None:
    theirs = [name for name, _ in HAS["RLM"]]
    ours = inspect.signature(RLM).parameters
    assert list(ours)[: len(theirs)] == theirs == list(names.said()["parameters"])
    assert {name: repr(ours[name].default) for name in theirs} == {name: repr(eval(default)) for name, default in HAS["RLM"]}


def test_a_reason_stands_beside_each_module_that_lacks_a_name_and_beside_no_other() -> None:
    lacking = [module for module, found in HAS["modules"].items() if names.not_served(module, found)]
    assert sorted(lacking) == sorted(names.said()["not_served"])


@pytest.mark.parametrize(("place", "name", "here"), list(names.options(HAS)), ids=lambda each: each.partition(":")[0])
def test_an_option_of_an_environment_is_taken_or_refused_as_the_page_says(place: str, name: str, here: str) -> None:
    value = names.example(name)
    if here.startswith("refused: "):
        with pytest.raises(TypeError) as refused:
            create_environment(place, **{name: value})
        assert str(refused.value).endswith(here.removeprefix("refused: "))
    else:
        create_environment(place, **{name: value})  # it would name an option that it does not have
