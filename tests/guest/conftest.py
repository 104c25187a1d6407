"""What all tests of the guest's code check behind themselves: it runs in the process of the tests here."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _garbage_is_collected() -> Iterator[None]:
    """A worker turns the garbage collector off; a test that leaves it so changes what the later ones measure."""
    yield
    collects = gc.isenabled()
    gc.enable()
    assert collects, "this test left the garbage collector off"
