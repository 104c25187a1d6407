"""Which process may use a session: the one that made it.

A fork shares its parent's sockets: two processes that read from one socket would take each other's answers.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Self, TypeVar

from rlm_secure.errors import WrongProcess
from rlm_secure.pickling import Unpicklable

_FORWARDING: Final[set[Any]] = set()
_Method = TypeVar("_Method", bound=Callable[..., Any])


def forwards(method: _Method) -> _Method:
    """Mark a method that does nothing before it calls a public method of an object of the same owner."""
    _FORWARDING.add(method)
    return method


class Owned(Unpicklable):
    """Belongs to the process that made it: in a fork, every public method and property raises WrongProcess.

    A method that is marked by `forwards` leaves any other check to what it calls.
    An exception that leaves a `with` block in a fork propagates unchanged. It cannot be pickled.
    """

    _owner: int

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        """Make an object that belongs to this process."""
        made = super().__new__(cls)
        made._owner = os.getpid()
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__enter__", "__exit__"):
                continue
            if isinstance(value, property):
                setattr(cls, name, property(_checked(value.fget, whole=False), doc=value.__doc__))
            elif isinstance(value, FunctionType):
                setattr(cls, name, _checked(value, whole=value not in _FORWARDING))

    def _check_process(self) -> None:
        from rlm_secure.policy.gate import Gate  # with what a local session's process is started before: launch.py

        Gate.process(self._owner).require(WrongProcess)

    def _check(self) -> None:
        """Raise if the caller may not call a method, though its process may."""


def _checked(function: Any, *, whole: bool) -> Any:
    leaving = function.__name__ == "__exit__"

    @functools.wraps(function)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if os.getpid() != self._owner:
            if leaving and args and args[0] is not None:
                return None
            self._check_process()
        if whole:
            self._check()
        return function(self, *args, **kwargs)

    return checked
