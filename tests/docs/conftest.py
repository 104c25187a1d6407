"""A block that needs an engine, or root, is left out where there is none; in CI its absence is a failure."""

from __future__ import annotations

import pytest

from tests.docs import places


@pytest.hookimpl(tryfirst=True)  # before marks are selected by
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    absent = []
    for item in items:
        block = getattr(getattr(item, "callspec", None), "params", {}).get("block")
        needs = block.test.needs if block is not None and hasattr(block, "test") else ()
        if places.WITH_ENGINE & set(needs):
            item.add_marker(pytest.mark.docker)
        if not all(places.can(need) for need in needs):
            absent.append(item)
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]
