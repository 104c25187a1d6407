"""The guards for `import x` and `from x import y`: nothing is ever imported; a facade is looked up instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import facades, names
from .violations import ModuleRefused, NameRefused


def _granted(name: str, modules: frozenset[str]) -> bool:
    """Whether `modules` allow `name`. A package allows its submodules; an empty package is allowed with any of them."""
    if name in facades.PACKAGES:
        return any(each.partition(".")[0] == name for each in modules)
    return name in modules or name.partition(".")[0] in modules


def import_guards(modules: frozenset[str]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The guards for `import x` and `from x import y`."""

    def load(name: str) -> Any:
        if name in facades.NAMES and _granted(name, modules):
            return facades.load(name)
        offered = ", ".join(sorted(each for each in facades.NAMES if _granted(each, modules)))
        raise ModuleRefused(
            "import-module", f"the module {names.shown(name)} is not available in cells; available: {offered}"
        )

    def import_(name: str, whole: bool) -> Any:
        found = load(name)
        return found if whole or "." not in name else load(name.partition(".")[0])

    def import_from(module: str, name: str) -> Any:
        found = load(module)
        try:
            return getattr(found, name)
        except AttributeError as error:
            if f"{module}.{name}" in facades.NAMES:
                return load(f"{module}.{name}")
            raise NameRefused("import-name", str(error).rstrip(".")) from None

    return import_, import_from
