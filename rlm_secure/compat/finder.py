"""Makes `import rlm` load the modules of this folder, for programs that import upstream by its own name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_NAME: Final = "rlm"
_HERE: Final = "rlm_secure.compat"
_lock = threading.Lock()


def install(*, force: bool = False) -> None:
    """Make `import rlm` and `import rlm.…` load the modules of `rlm_secure.compat`. Idempotent and thread-safe.

    Raises ImportError if another package of that name is imported or installed, unless `force` is set: then that
    package can no longer be imported. Objects imported from it before do not change.
    """
    with _lock:
        if _finder in sys.meta_path and _is_ours(sys.modules.get(_NAME)):
            return
        if not force:
            _require_free()
        for name in [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]:
            del sys.modules[name]
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)


def _require_free() -> None:
    other = sys.modules.get(_NAME)
    if other is not None and not _is_ours(other):
        raise ImportError(
            f"another package is imported as {_NAME!r} already; call rlm_secure.compat.install() before that, or with "
            "force=True to take its place",
            name=_NAME,
        )
    if _finder not in sys.meta_path and importlib.util.find_spec(_NAME) is not None:
        raise ImportError(
            f"another package is installed as {_NAME!r}; uninstall it (pip uninstall rlms), or call "
            "rlm_secure.compat.install(force=True) to take its place",
            name=_NAME,
        )


def _is_ours(module: ModuleType | None) -> bool:
    return module is None or module.__name__ == _HERE


class _Finder(MetaPathFinder):
    """Finds `rlm.a.b` at `rlm_secure.compat.a.b`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != _NAME and not fullname.startswith(f"{_NAME}."):
            return None
        ours = importlib.util.find_spec(_HERE + fullname.removeprefix(_NAME))
        if ours is None:
            return None
        return ModuleSpec(fullname, _SameModule(ours.name), is_package=ours.submodule_search_locations is not None)


class _SameModule(Loader):
    """Loads a module under a second name: the same object, so that a class or a patch is the same under both."""

    def __init__(self, name: str) -> None:
        self._name = name

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by ours. importlib uses what `sys.modules` holds when this returns."""
        sys.modules[module.__name__] = importlib.import_module(self._name)


_finder: Final = _Finder()
