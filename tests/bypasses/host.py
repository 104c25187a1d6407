"""What the host leaves lying around in a cell: a function, an object with something private, an interrupt."""

from __future__ import annotations

from typing import Any

CANARY = "canary-5e3d91"
SECRET = CANARY  # in the globals of `helper`, where "{0.__globals__}" would find it


class Interrupt(BaseException):
    """As the worker's own: a cell must neither catch nor name it."""


class Record:
    """A host object with something private."""

    def __init__(self) -> None:
        self._secret = CANARY
        self.public = 1

    def method(self) -> int:
        return self.public


def helper(value: object = None) -> object:
    """A host function that cells may call."""
    return value


def stop() -> None:
    """What a signal from the host does in the middle of a cell."""
    raise Interrupt


def names() -> dict[str, Any]:
    """The globals of an attack."""
    return {"helper": helper, "record": Record(), "stop": stop, "CANARY": CANARY}
