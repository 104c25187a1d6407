"""A facade: an object with the chosen members of one standard module, and no way to anything else.

A real module is the largest hole of a language sandbox: json.codecs.open and statistics.sys need no forbidden
name. A facade only has the members that were chosen for it: it has slots, no `__dict__`, no writes, no
subclasses, and no way back to the module. For other members of the module, it says why they are missing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar, NoReturn

_MAKER = object()  # only `facade` may make subclasses of Facade
_LISTED = 12  # if there are more members, an error message only lists close matches


class Facade:
    """The members of one module as read-only attributes. Created by `facade`, never by a cell.

    Reading a name that is not a member raises AttributeError; writing or deleting one does as well.
    """

    __slots__ = ()
    _name: ClassVar[str]
    _members: ClassVar[tuple[str, ...]]
    _left_out: ClassVar[Mapping[str, str]]
    _later: ClassVar[Mapping[str, Callable[[], Any]]]

    def __init_subclass__(cls, *, maker: object = None) -> None:
        if maker is not _MAKER:
            raise TypeError("a module cannot be subclassed; derive from one of its classes instead.")

    def __new__(cls, *_args: object, **_options: object) -> NoReturn:
        raise TypeError("a module cannot be made; write an import statement instead.")

    def __getattr__(self, name: str) -> Any:
        # For existing members this costs nothing since 3.12, and 10 ns on 3.11: worth it for a helpful error text.
        if name in self._later:
            return self._later[name]()
        raise AttributeError(explain(self, name))

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{self._name}.{name} cannot be set: modules are read-only here; use a variable.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._name}.{name} cannot be deleted: modules are read-only here.")

    def __repr__(self) -> str:
        return f"<module {self._name!r}>"

    def __dir__(self) -> list[str]:
        return sorted(self._members)

    def __copy__(self) -> Facade:
        return self

    def __deepcopy__(self, _memo: object) -> Facade:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(f"cannot copy or serialise the module {self._name!r}.")


def facade(
    name: str,
    module: ModuleType | None = None,
    *,
    take: str = "",
    newer: str = "",
    own: Mapping[str, Any] | None = None,
    left_out: Mapping[str, str] | None = None,
    later: Mapping[str, Callable[[], Any]] | None = None,
) -> Facade:
    """Create the facade called `name`.

    `take` lists the members that are passed on unchanged from `module`, `newer` those that some supported Python
    versions do not have, `own` our replacements and submodules. `left_out` maps space-separated names of other members
    to the reason why they are left out. `later` gives the members that a function makes, at each read. Raises
    AttributeError when a name in `take` does not exist, and ValueError when a name is listed twice.
    """
    members: dict[str, Any] = {word: getattr(module, word) for word in take.split()}
    members.update((word, getattr(module, word)) for word in newer.split() if hasattr(module, word))
    refused = {word: why for words, why in (left_out or {}).items() for word in words.split()}
    replaced = dict(own or {})
    if twice := (members.keys() & replaced.keys()) | ((members.keys() | replaced.keys()) & refused.keys()):
        raise ValueError(f"{name}: {', '.join(sorted(twice))} decided twice.")
    members.update(replaced)
    return _made(name, members, refused, later or {})


def extended(made: Facade, later: Mapping[str, Callable[[], Any]]) -> Facade:
    """`made` with further members, for each the function that makes it, at each read."""
    members = {word: getattr(made, word) for word in made._members if word not in made._later}
    refused = {word: why for word, why in made._left_out.items() if word not in later}
    return _made(made._name, members, refused, {**made._later, **later})


def _made(
    name: str, members: Mapping[str, Any], refused: Mapping[str, str], later: Mapping[str, Callable[[], Any]]
) -> Facade:
    namespace = {
        "__slots__": tuple(members),
        "__module__": "builtins",  # so that type(math) reads <class 'module'>
        "_name": name,
        "_members": (*members, *later),
        "_left_out": refused,
        "_later": later,
    }
    made: Facade = object.__new__(type("module", (Facade,), namespace, maker=_MAKER))
    for word, value in members.items():
        object.__setattr__(made, word, value)
    return made


def members(made: Facade) -> tuple[str, ...]:
    """The names of the members of `made`."""
    return made._members


def left_out(made: Facade) -> Mapping[str, str]:
    """The members of the module that `made` leaves out, each with the reason."""
    return made._left_out


def explain(made: Facade, name: str) -> str:
    """One sentence that says why `name` is not in `made`, and what is available."""
    title, known = made._name, made._members
    why = made._left_out.get(name)
    if len(known) <= _LISTED:
        offer = f"available: {', '.join(known)}"
    elif why:
        return f"{title}.{name} is not in the {title} facade: {why}."
    elif close := difflib.get_close_matches(name, known, n=6, cutoff=0.5):
        offer = f"close to it: {', '.join(close)}"
    else:
        offer = f"dir({title}) lists the {len(known)} names that are"
    return f"{title}.{name} is not in the {title} facade{f' ({why})' if why else ''}; {offer}."
