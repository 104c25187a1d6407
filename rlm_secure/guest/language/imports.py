"""The guards for `import x` and `from x import y`: nothing is ever imported; a facade is looked up instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import facades, library, names
from .violations import ModuleRefused, NameRefused

#: Every module that a cell may import under some policy, by its exact name: "json" does not include "json.tool".
NAMES = facades.NAMES | library.NAMES


def _exists(name: str) -> bool:
    """Whether there is such a module; third-party packages add theirs in the zygote."""
    return name in facades.NAMES or name in library.NAMES


def _granted(name: str, modules: frozenset[str]) -> bool:
    """Whether `modules` allow `name`. A package allows its submodules; an empty package is allowed with any of them."""
    if name in facades.PACKAGES:
        return any(each.partition(".")[0] == name for each in modules)
    first = name.partition(".")[0]
    return name in modules or first in modules or facades.PARENTS.get(first) in modules


def import_guards(
    modules: frozenset[str], new_globals: Callable[[frozenset[str], Any], dict[str, Any]], loaded: dict[str, Any]
) -> tuple[Callable[..., Any], ...]:
    """The guards for `import x` and `from x import y`; for `from x import *`, which takes the cell's globals first; and
    for a cell that awaits at its top: its coroutine is run to the end, whatever `modules` say.

    `loaded` are the session's modules that are written in the Python of cells. They get globals from `new_globals`, in
    which every module can be imported.
    """

    def made(name: str) -> Any:
        if name in library.EXTENDED:
            return library.extend(facades.load(name), name, lambda: new_globals(NAMES, loaded))
        return library.load(name, new_globals(NAMES, loaded))

    def load(name: str) -> Any:
        if _exists(name) and _granted(name, modules):
            if name in facades.NAMES and name not in library.EXTENDED:
                return facades.load(name)
            if name not in loaded:
                loaded[name] = made(name)
            return loaded[name]
        offered = ", ".join(sorted(each for each in facades.NAMES | library.NAMES if _granted(each, modules)))
        refused = ModuleRefused(
            "import-module", f"the module {names.shown(name)} is not available in cells; available: {offered}"
        )
        refused.name = name
        raise refused

    def import_(name: str, whole: bool) -> Any:
        found = load(name)
        return found if whole or "." not in name else load(name.partition(".")[0])

    def import_from(module: str, name: str) -> Any:
        found = load(module)
        try:
            return getattr(found, name)
        except AttributeError as error:
            if _exists(f"{module}.{name}"):
                return load(f"{module}.{name}")
            raise NameRefused("import-name", str(error).rstrip(".")) from None

    def import_all(space: dict[str, Any], module: str) -> None:
        found = load(module)
        listed = getattr(sys.modules.get(module), "__all__", None)
        for name in facades.members(found):
            value = getattr(found, name)
            # A submodule is not meant by `*`.
            if name[0] != "_" and (listed is None or name in listed) and not isinstance(value, facades.Facade):
                space[name] = value

    def run_async(coroutine: Any) -> None:
        if "asyncio" not in loaded:
            loaded["asyncio"] = library.load("asyncio", new_globals(NAMES, loaded))
        loaded["asyncio"].run(coroutine)

    return import_, import_from, import_all, run_async
