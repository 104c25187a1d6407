"""Modules that are written in the Python of cells, for those of the standard library that no facade can hand out.

The real ones keep state, start threads or look at frames. These are compiled, screened and run as a cell is, in globals
of their own with the same guards: a mistake in one of them opens nothing that a cell could not write itself. Their
classes are a cell's own, so a cell may derive from them. Each is compiled when a session first imports it.

Each file lists its public names in `__all__`, and in `LEFT_OUT` why others are missing. Names that are annotated there
without a value are bound by `load`, from natives.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler import CellRefused, compile_cell, run
from ..facades.facade import Facade, facade
from . import natives

#: Each module, and its file.
_FILES = {
    "array": "array.py",
    "asyncio": "asyncio.py",
    "concurrent": "concurrent.py",
    "concurrent.futures": "concurrent_futures.py",
    "files": "files.py",
    "graphlib": "graphlib.py",
    "hmac": "hmac.py",
    "logging": "logging.py",
    "pathlib": "pathlib.py",
    "queue": "queue.py",
    "secrets": "secrets.py",
    "struct": "struct.py",
    "threading": "threading.py",
    "traceback": "traceback.py",
    "warnings": "warnings.py",
}
#: Those that a cell may import. `files` is an object of sessions that have files.
NAMES = frozenset(_FILES) - {"files"}

_SOURCE_BYTES, _AST_NODES = 1 << 18, 1 << 16
_sources: dict[str, str] = {}


def _source(name: str) -> str:
    if name not in _sources:
        loader: Any = __spec__.loader  # of files, or of the zip that a sandbox has
        path = __file__.rpartition("/")[0] + "/" + _FILES[name]
        _sources[name] = loader.get_data(path).decode()
    return _sources[name]


def read_all() -> None:
    """Read the source of every module, because no file can be opened after a session is sealed."""
    for name in _FILES:
        _source(name)


def load(name: str, space: dict[str, Any], functions: dict[str, Any] | None = None) -> Facade:
    """Run the module `name` in `space`, the new globals of a session, and return the facade of its public names.

    `functions` are bound there first. Raises KeyError for a name that is not in NAMES, and RecursionError.
    """
    try:
        code = compile_cell(_source(name), source_bytes=_SOURCE_BYTES, ast_nodes=_AST_NODES, file=f"<{name}>")
    except CellRefused:  # no cell may have one: it could raise it again as its own end
        raise RecursionError(f"there is no room left on the stack, or in memory, to import {name}") from None
    space["__name__"] = name
    space.update(natives.TABLES.get(name, {}))
    space.update(functions or {})
    run(code, space)
    return facade(
        name, own={each: space[each] for each in space["__all__"]}, left_out=space.get("LEFT_OUT")
    )


#: Returns the facade of a module by its name.
Loader = Callable[[str], Facade]
