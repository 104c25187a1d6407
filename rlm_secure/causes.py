"""Which part of a foreign exception may be shown: messages of this machine, and nothing from a provider.

An SDK raises a chain: its own error, the HTTP library's, the operating system's. A provider's text, a request with its
key or a server's bytes may be anywhere in it. Messages of the operating system, the resolver, the TLS library and the
import system are local, and are what a user needs for setup: "connection refused", "no module named", "certificate
verify failed".
"""

from __future__ import annotations

import builtins
import inspect
import socket
import ssl
from collections.abc import Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final

#: Modules whose own exceptions are local. Subclasses from elsewhere (requests.HTTPError) are not.
_LOCAL: Final = frozenset({"builtins", "socket", "ssl"})
#: The exceptions that are copied: all of the operating system, the resolver, TLS and the import system.
_MADE_AGAIN: Final[dict[type[BaseException], type[BaseException]]] = {
    kind: kind
    for module in (builtins, socket, ssl)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, OSError | ImportError)
}
#: Attributes that an exception has when a provider answered.
_REPLY: Final = ("response", "body", "status_code", "http_status", "code", "details")
_LONGEST: Final = 32


def local_cause(error: BaseException) -> BaseException | None:
    """The innermost local exception that led to `error`, as a copy to raise from; None where there is none.

    Also None where any exception of the chain carries a reply. The copy has no chain and no traceback, so that nothing
    else is shown.
    """
    found: BaseException | None = None
    for each in _chain(error):
        if type(each).__module__ not in _LOCAL and any(_has(each, name) is not None for name in _REPLY):
            return None
        if type(each) in _MADE_AGAIN and _is_local(each):
            found = each
    if found is None:
        return None
    copy = _MADE_AGAIN[type(found)](*(each for each in found.args if isinstance(each, str | int)))
    if isinstance(copy, ImportError) and isinstance(found, ImportError):
        copy.name, copy.path = found.name, found.path
    return copy


def _has(error: BaseException, name: str) -> Any:
    """An attribute of a foreign exception, without running its code: for a property, the property object.

    A property of an SDK may warn, raise or do a lookup. That it exists shows that there may be a reply.
    """
    found = inspect.getattr_static(error, name, None)
    if isinstance(found, MemberDescriptorType | GetSetDescriptorType):  # a slot, or a field of the interpreter's own
        return getattr(error, name, None)
    return found


def _is_local(error: BaseException) -> bool:
    """Whether it is an ImportError, or an OSError with a number or without arguments: an SDK's has a text only."""
    if isinstance(error, OSError):
        return isinstance(error.errno, int) or not error.args
    return isinstance(error, ImportError)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and what led to it, outermost first: causes, contexts, and exceptions that others carry as arguments."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _LONGEST:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        carried = [part for part in (*each.args, _has(each, "reason")) if isinstance(part, BaseException)]
        waiting += [each.__cause__, each.__context__, *carried]
