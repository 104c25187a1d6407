"""Works around an interpreter bug: calling a C method without an object uses whatever is on the interpreter's stack.

If a call often has a C method with the calling convention METH_FASTCALL, the interpreter replaces it by a faster
instruction. That reads the first argument without checking that there is one (gh-131998): `pop = list.pop; pop()` reads
what an earlier expression left on the stack. This may be freed memory, or NULL, which crashes the interpreter. Python
3.11 also releases it once too often, so that a list is freed while a variable refers to it. Library code that calls
`x.pop()` on a class has the same effect.

The faster instruction compares the flags of the method first. If they differ from those it was made for, the normal
call is used. So these methods get one more flag, METH_COEXIST, which has no meaning once their class exists. Python
3.13 has a special instruction for `list.append`, which compares the method itself: so the class gets another method.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_KEYWORDS, _COEXIST, _FASTCALL = 0x02, 0x40, 0x80  # METH_KEYWORDS, METH_COEXIST, METH_FASTCALL
_FAST = (_FASTCALL, _FASTCALL | _KEYWORDS)
#: Words of a method descriptor, in CPython 3.11 to 3.13, and which of them are its class and its definition.
_WORDS, _CLASS, _DEFINITION = 7, 2, 5

_namespace_of: Callable[[type], Any] = type.__dict__["__dict__"].__get__
_class_of: Callable[[Any], type] = types.MethodDescriptorType.__dict__["__objclass__"].__get__
_name_of: Callable[[Any], str] = types.MethodDescriptorType.__dict__["__name__"].__get__
_make = ctypes.pythonapi.PyDescr_NewMethod
_make.argtypes, _make.restype = [ctypes.py_object, ctypes.c_void_p], ctypes.py_object
_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes, _modified.restype = [ctypes.py_object], None


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_void_p),
    )


#: Objects to which C code now points, kept alive.
_kept: list[Any] = []
_appends: list[Any] = []
#: Classes whose methods were changed.
_done: set[type] = set()


def _classes(kind: type, met: set[type]) -> Iterator[type]:
    if kind not in met:
        met.add(kind)
        yield kind
        each: type
        for each in type.__subclasses__(kind):
            yield from _classes(each, met)


def _words(method: Any) -> Any:
    words = (ctypes.c_void_p * _WORDS).from_address(id(method))
    if words[_CLASS] != id(_class_of(method)):
        raise ImportError("the methods of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    return words


def _slow_down(method: Any) -> None:
    words = _words(method)
    definition = _Definition.from_address(words[_DEFINITION])
    if definition.name != _name_of(method).encode():
        raise ImportError("the methods of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    if definition.flags in _FAST:
        copied = _Definition.from_buffer_copy(definition)  # where it is, it may be read-only
        copied.flags |= _COEXIST
        _kept.append(copied)
        words[_DEFINITION] = ctypes.addressof(copied)


def _replace_append() -> None:
    table = gc.get_referents(_namespace_of(list))[0]
    method = table["append"]
    table["append"] = _make(list, _words(method)[_DEFINITION])
    _appends.append(method)  # the instruction compares with it, and so its memory must not become another's
    _modified(list)


def keep() -> None:
    """Change the methods of all existing classes. Call it again for classes that were created later.

    Raises ImportError if this interpreter has another memory layout.
    """
    if types.MethodDescriptorType.__basicsize__ != _WORDS * ctypes.sizeof(ctypes.c_void_p):
        raise ImportError("the methods of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    for kind in {*_classes(object, set())} - _done:
        _done.add(kind)
        for value in [*_namespace_of(kind).values()]:
            if type(value) is types.MethodDescriptorType:
                _slow_down(value)
    if sys.version_info >= (3, 13) and not _appends:
        _replace_append()
