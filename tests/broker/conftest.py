"""What several files share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker.support import Raw, raw_session


@pytest.fixture(scope="module")
def raw() -> Iterator[Raw]:
    with raw_session() as made:
        yield made
