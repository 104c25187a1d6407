"""copy.copy and copy.deepcopy without the reduce protocol of cells.

The standard functions call any function that `__reduce_ex__` returns, and set the returned state on its result, by
string and without guards. Here an instance of a cell's class is rebuilt from its own data, and only as a new instance
of the same class; `__copy__` and `__deepcopy__` work as usual. Types of the standard library are rebuilt by their own
reduce method, if it returns the type itself or a function of a short list.

Copied objects are found by their address. So each object is kept alive before its address is stored, and a copy that
fails removes its entry: otherwise the next object at that address would be mistaken for it.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import itertools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from ..names import is_dunder
from ..registry import derives, is_class, namespace_of, order_of, own_class, title
from .generated import generated
from .identity import identity

_HOOKS = frozenset(
    {"__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__"}
)

_ATOMIC: frozenset[type] = frozenset(
    {
        type(None), int, float, bool, complex, bytes, str, range, property, type(Ellipsis), type(NotImplemented),
        types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType, weakref.ref,
        # Reducing a descriptor gives getattr() with a name to read. Descriptors are constant, so they are not copied.
        types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
        types.GetSetDescriptorType, types.MemberDescriptorType,
    }
)  # fmt: skip

#: Functions that a reduce method may return, besides the type itself: none reads or sets an attribute by a string.
_MAKERS: tuple[Any, ...] = (
    copyreg.__newobj__,  # type: ignore[attr-defined]
    copyreg.__newobj_ex__,  # type: ignore[attr-defined]
    iter,
    reversed,
    operator.getitem,
)

#: The iterators of itertools. Two tee() iterators share their items. If their states are read at different times, with
#: code of a cell in between, the states do not match, and the copy reads uninitialised memory.
_ITERATORS = frozenset(kind for kind in vars(itertools).values() if type(kind) is type)


class Memo:
    """The copies that deepcopy has made so far, by address. A `__deepcopy__` of a cell receives it and may pass it on.

    A cell only sees the entries that cells have stored, by the numbers of their id(). The other entries include private
    state of library objects. A memo is never copied, because its parts could then be used as such a state.
    """

    __slots__ = ("_given", "_kept", "_made", "_shown")

    def __init__(self, given: Any = None) -> None:
        self._given: dict[Any, Any] = given if type(given) is dict else {}
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._shown = self

    def inner(self) -> Memo:
        """A memo with the same copies, but without entries that a cell stores; hooks still receive the outer memo."""
        made = Memo()
        made._made, made._kept, made._shown = self._made, self._kept, self._shown
        return made

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a memo of deepcopy cannot be copied; pass it to deepcopy as it is.")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._given[key] = value

    def __getitem__(self, key: Any) -> Any:
        return self._given[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._given

    def get(self, key: Any, default: Any = None) -> Any:
        """The value that a cell stored under `key`."""
        return self._given.get(key, default)


def shallow(x: Any) -> Any:
    """copy.copy. Raises TypeError for objects that cannot be copied, and for classes of cells with reduce hooks."""
    kind = type(x)
    if kind in _ATOMIC or kind is tuple or kind is frozenset or is_class(x):
        return x
    if kind in (list, dict, set, bytearray):
        return x.copy()
    if (hook := _find(kind, "__copy__")) is not None:
        return hook(x)
    return _rebuild(x, None)


def deepcopy(x: Any, memo: Any = None) -> Any:
    """copy.deepcopy. Raises TypeError for objects that cannot be copied, and for classes of cells with reduce hooks."""
    return _deep(x, memo if type(memo) is Memo else Memo(memo))


def _deep(x: Any, memo: Memo) -> Any:
    kind = type(x)
    if memo._given and (shown := identity(x)) in memo._given:
        return memo._given[shown]
    if kind in _ATOMIC or is_class(x):
        return x
    key = id(x)
    if key in memo._made:
        return memo._made[key]
    try:
        return _copied(x, kind, memo)
    except BaseException:  # an interrupt as well: the cell may keep the memo, which must have no incomplete copies
        memo._made.pop(key, None)
        raise


def _copied(x: Any, kind: type, memo: Memo) -> Any:
    if kind is list:
        items: list[Any] = _keep([], x, memo)
        items.extend(_deep(item, memo) for item in x)
        return items
    if kind is dict:
        table: dict[Any, Any] = _keep({}, x, memo)
        for name, item in x.items():
            table[_deep(name, memo)] = _deep(item, memo)
        return table
    if kind is tuple:
        return _keep(_deep_tuple(x, memo), x, memo)
    if kind is types.MethodType:
        made = _deep(x.__self__, memo)
        if type(made) is not type(x.__self__) or (is_class(made) and made is not x.__self__):
            raise TypeError("deepcopy of a method takes a memo that keeps the type of its instance.")
        return types.MethodType(x.__func__, made)
    if (hook := _find(kind, "__deepcopy__")) is not None:
        return _keep(hook(x, memo._shown), x, memo)
    return _keep(_rebuild(x, memo), x, memo)


def replaced(obj: Any, /, **changes: Any) -> Any:
    """copy.replace (3.13). Raises TypeError for objects that do not support it.

    SimpleNamespace's own method assumes that the `__new__` of a derived class returns a SimpleNamespace.
    """
    kind = type(obj)
    hook = _find(kind, "__replace__")
    if hook is None or is_class(obj):
        raise TypeError(f"replace() does not support {title(kind)} objects")
    if derives(kind, types.SimpleNamespace) and kind is not types.SimpleNamespace:
        _refuse(kind)
    return hook(obj, **changes)


def _keep(made: Any, x: Any, memo: Memo) -> Any:
    """Store `made` as the copy of `x`, which is kept alive before its address is a key. Nothing else fills `_made`."""
    if made is not x:
        memo._kept.append(x)
        memo._made[id(x)] = made
    return made


def _deep_tuple(x: tuple[Any, ...], memo: Memo) -> Any:
    parts = [_deep(item, memo) for item in x]
    if id(x) in memo._made:  # the tuple contains itself through a list, and was copied on the way
        return memo._made[id(x)]
    return x if all(new is old for new, old in zip(parts, x, strict=True)) else tuple(parts)


def _find(kind: type, name: str) -> Any:
    """The attribute that `kind` or its bases define; never one of the instance or of a metaclass."""
    if any(name in namespace_of(owner) for owner in order_of(kind)):
        return getattr(kind, name)
    return None


def _rebuild(x: Any, memo: Memo | None) -> Any:
    kind = type(x)
    for owner in order_of(kind):
        if own_class(owner):
            namespace = namespace_of(owner)
            for name in _HOOKS:
                # A namedtuple has a __getnewargs__ that collections made, a frozen dataclass with slots a __getstate__.
                if name in namespace and not generated(namespace[name]):
                    _refuse_hook(name)
    for name in _table(x) or ():  # an entry of the instance hides a method of the class
        if type(name) is not str:  # a key of another type could equal any name
            raise TypeError(f"copy takes instances whose attributes have plain names; {title(kind)} has another key.")
        if name in _HOOKS:
            _refuse_hook(name)
    if kind in _ITERATORS:  # since 3.14, Python cannot copy them either
        raise TypeError(f"copy does not take the iterator {title(kind)}; keep its items in a list.")
    if derives(kind, enum.Enum):  # members are singletons
        return x
    reduced: Any = kind.__reduce_ex__(x, 4)  # type: ignore[call-arg]
    if type(reduced) is str:  # a singleton that is found by its name
        return x
    func, args, *rest = reduced
    state, items, pairs = (*rest, None, None, None)[:3]
    return _assemble(x, memo, func, args, state, items, pairs)


def _refuse_hook(name: str) -> NoReturn:
    raise TypeError(f"copy does not run {name} of classes defined in cells; define __copy__ or __deepcopy__.")


def _table(x: Any) -> dict[str, Any] | None:
    """The `__dict__` of an instance, read without hooks; None if it has none."""
    try:
        table = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return table if type(table) is dict else None


def _assemble(
    x: Any, memo: Memo | None, func: Callable[..., Any], args: Any, state: Any, items: Any, pairs: Any
) -> Any:
    kind = type(x)
    if not _makes(func, kind):
        _refuse(kind)
    if memo is not None and not own_class(kind):
        memo = memo.inner()  # entries that the cell stored must not replace parts of a library's object
    if memo is not None and args:
        args = tuple(_deep(arg, memo) for arg in args)
    y = func(*args)
    if type(y) is not kind:
        _refuse(kind)
    if memo is not None:
        _keep(y, x, memo)
        state = _deep(state, memo)
    if state is not None:
        _restore(y, state)
    for item in items or ():
        y.append(item if memo is None else _deep(item, memo))
    for name, value in pairs or ():
        if memo is None:
            y[name] = value
        else:
            y[_deep(name, memo)] = _deep(value, memo)
    return y


def _makes(func: Any, kind: type) -> bool:
    """Whether a reduce method of `kind` may return `func`. Compared by identity: an object of a cell may equal any."""
    if func is kind or any(func is maker for maker in _MAKERS):
        return True
    if type(func) is functools.partial:  # an operator.methodcaller with keywords
        return func.func is kind
    return type(func) in (types.BuiltinMethodType, types.MethodType) and func.__self__ is kind  # ZoneInfo's


def _restore(y: Any, state: Any) -> None:
    """Set `state` on `y`, a new instance of the class from which the state was read."""
    kind = type(y)
    if (setter := _find(kind, "__setstate__")) is not None:  # of a standard type: those of cells were refused
        if derives(type(state), dict):
            # That of an exception sets attributes by these names, which may include __class__. For a shallow copy, the
            # state is the original's own dict, to which a cell's `__setattr__` could add entries meanwhile.
            state = dict.copy(state)
            if any(type(name) is not str or is_dunder(name) for name in state):
                _refuse(kind)
        setter(y, state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    if state is not None:
        table = _table(y)
        if table is None or type(state) is not dict:
            _refuse(kind)
        table.update(state)
    for name, value in (slots or {}).items():
        if type(name) is not str or is_dunder(name):
            _refuse(kind)  # for example, __class__
        object.__setattr__(y, name, value)


def _refuse(kind: type) -> NoReturn:
    raise TypeError(f"copy cannot rebuild {title(kind)} from its own instance; define __copy__ or __deepcopy__.")
