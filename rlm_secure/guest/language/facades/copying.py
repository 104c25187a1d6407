"""copy.copy and copy.deepcopy without the reduce protocol of cells.

The standard ones let `__reduce_ex__` name a function to call, and then write the state that it returns onto
whatever came back, by string and past every guard. Here a class of a cell is rebuilt from its own instance, and
only onto a fresh instance of the same class; `__copy__` and `__deepcopy__` work as usual. Types of the standard
library are rebuilt by their own reduce method, as long as it names the type itself or a function of a short list.

What was copied is known by its address, so each object is held before its address is written down, and a copy that
fails takes its entry with it: otherwise the next object at that address would be taken for it.
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
        # Descriptors name getattr() and what to read, and the name is as good as copied already.
        types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
        types.GetSetDescriptorType, types.MemberDescriptorType,
    }
)  # fmt: skip

#: What a reduce method may name, besides the type that is rebuilt: none reads or sets an attribute by a string.
_MAKERS: tuple[Any, ...] = (
    copyreg.__newobj__,  # type: ignore[attr-defined]
    copyreg.__newobj_ex__,  # type: ignore[attr-defined]
    iter,
    reversed,
    operator.getitem,
)

#: The iterators of itertools. Two tee() iterators share their items: where their states are read at two moments, with
#: code of a cell in between, they do not fit together, and the copy reads memory that nobody wrote to.
_ITERATORS = frozenset(kind for kind in vars(itertools).values() if type(kind) is type)


class Memo:
    """What deepcopy has copied so far, keyed by address. A `__deepcopy__` of a cell is given one, and may pass it on.

    It shows a cell only what cells put in, by the numbers that their id() says: among the rest is the private state of
    library objects. It is never copied: its parts would be taken for a library object's state.
    """

    __slots__ = ("_given", "_kept", "_made", "_shown")

    def __init__(self, given: Any = None) -> None:
        self._given: dict[Any, Any] = given if type(given) is dict else {}
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._shown = self

    def inner(self) -> Memo:
        """The same copies, without what a cell stores, before or later: its hooks are still shown the outer one."""
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
        """What a cell stored under `key`."""
        return self._given.get(key, default)


def shallow(x: Any) -> Any:
    """copy.copy. Raises TypeError for what cannot be copied, and for classes of cells with reduce hooks."""
    kind = type(x)
    if kind in _ATOMIC or kind is tuple or kind is frozenset or is_class(x):
        return x
    if kind in (list, dict, set, bytearray):
        return x.copy()
    if (hook := _find(kind, "__copy__")) is not None:
        return hook(x)
    return _rebuild(x, None)


def deepcopy(x: Any, memo: Any = None) -> Any:
    """copy.deepcopy. Raises TypeError for what cannot be copied, and for classes of cells with reduce hooks."""
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
    except BaseException:  # an interrupt as well: the memo may live on in the cell, and what is half made is no copy
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
    """copy.replace (3.13). Raises TypeError for what does not support it.

    SimpleNamespace's own method takes whatever a derived class's `__new__` returns for a SimpleNamespace.
    """
    kind = type(obj)
    hook = _find(kind, "__replace__")
    if hook is None or is_class(obj):
        raise TypeError(f"replace() does not support {title(kind)} objects")
    if derives(kind, types.SimpleNamespace) and kind is not types.SimpleNamespace:
        _refuse(kind)
    return hook(obj, **changes)


def _keep(made: Any, x: Any, memo: Memo) -> Any:
    """Remember `made` for `x`, which is kept alive from before its address is a key. The only way into `_made`."""
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
    """The attribute that the classes of `kind` define; never the instance's own, never a metaclass's."""
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
    for name in _table(x) or ():  # a method of the class gives way to an entry of the instance
        if type(name) is not str:  # it could answer to any name
            raise TypeError(f"copy takes instances whose attributes have plain names; {title(kind)} has another key.")
        if name in _HOOKS:
            _refuse_hook(name)
    if kind in _ITERATORS:  # no Python copies them from 3.14 on
        raise TypeError(f"copy does not take the iterator {title(kind)}; keep its items in a list.")
    if derives(kind, enum.Enum):  # a member is the only one of its kind
        return x
    reduced: Any = kind.__reduce_ex__(x, 4)  # type: ignore[call-arg]
    if type(reduced) is str:  # a singleton that is known by its name
        return x
    func, args, state, items, pairs = (*reduced, None, None, None)[:5]
    return _assemble(x, memo, func, args, state, items, pairs)


def _refuse_hook(name: str) -> NoReturn:
    raise TypeError(f"copy does not run {name} of classes defined in cells; define __copy__ or __deepcopy__.")


def _table(x: Any) -> dict[str, Any] | None:
    """The attributes of an instance, as they are kept; None where it has no room for any."""
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
        memo = memo.inner()  # what the cell put into its memo stands for no part of a library's object
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
    """Whether a reduce method of `kind` may name `func`: by identity, for a function of a cell may equal anything."""
    if func is kind or any(func is maker for maker in _MAKERS):
        return True
    if type(func) is functools.partial:  # an operator.methodcaller with keywords
        return func.func is kind
    return type(func) in (types.BuiltinMethodType, types.MethodType) and func.__self__ is kind  # ZoneInfo's


def _restore(y: Any, state: Any) -> None:
    """Give `y`, a fresh instance of the class that `state` was read from, that state."""
    kind = type(y)
    if (setter := _find(kind, "__setstate__")) is not None:  # a standard type's own: cells' were refused
        if derives(type(state), dict):
            # An exception's sets attributes by these names, __class__ among them. Of a shallow copy, they are those of
            # the original, which the `__setattr__` of a cell may add to meanwhile.
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
            _refuse(kind)  # __class__ is no slot
        object.__setattr__(y, name, value)


def _refuse(kind: type) -> NoReturn:
    raise TypeError(f"copy cannot rebuild {title(kind)} from its own instance; define __copy__ or __deepcopy__.")
