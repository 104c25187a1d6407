"""Modules that are written in the Python of cells, for those of the standard library that no facade can hand out.

The real ones keep state, start threads or look at frames. These are compiled, screened and run as a cell is, in globals
of their own with the same guards: a mistake in one of them opens nothing that a cell could not write itself. Their
classes are a cell's own, so a cell may derive from them. Each is compiled when a session first imports it.

Each file lists its public names in `__all__`, and in `LEFT_OUT` why others are missing. Names that are annotated there
without a value are bound by `load`, from natives.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..compiler import CellRefused, compile_cell, run
from ..facades.facade import Facade, extended, facade
from . import natives

#: Each module, and its file.
_FILES = {
    "argparse": "argparse.py",
    "array": "array.py",
    "asyncio": "asyncio.py",
    "concurrent": "concurrent.py",
    "concurrent.futures": "concurrent_futures.py",
    "configparser": "configparser.py",
    "files": "files.py",
    "gc": "gc.py",
    "graphlib": "graphlib.py",
    "html.parser": "html_parser.py",
    "hmac": "hmac.py",
    "inspect": "inspect.py",
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

#: Facades that get further members from a file of this folder when one of them is first read.
_MORE = {
    "collections": ("user_containers.py", "UserDict UserList UserString"),
    "contextlib": ("redirects.py", "redirect_stderr redirect_stdout"),
    "functools": ("dispatch.py", "partialmethod singledispatch singledispatchmethod"),
    "html": ("html.py", "parser"),
    "io": ("text_wrapper.py", "TextIOWrapper"),
    "string": ("template.py", "Template"),
}
EXTENDED = frozenset(_MORE)

_SOURCE_BYTES, _AST_NODES = 1 << 18, 1 << 16
_sources: dict[str, str] = {}


def _source(name: str) -> str:
    if name not in _sources:
        loader: Any = __spec__.loader  # of files, or of the zip that a sandbox has
        path = __file__.rpartition("/")[0] + "/" + (_FILES[name] if name in _FILES else _MORE[name][0])
        _sources[name] = loader.get_data(path).decode()
    return _sources[name]


def further(name: str) -> frozenset[str]:
    """The members that a file here adds to the facade of the module `name`."""
    return frozenset(_MORE[name][1].split()) if name in _MORE else frozenset()


def read_all() -> None:
    """Read the source of every module, because no file can be opened after a session is sealed."""
    for name in (*_FILES, *_MORE):
        _source(name)


def load(name: str, space: dict[str, Any], functions: dict[str, Any] | None = None) -> Facade:
    """Run the module `name` in `space`, the new globals of a session, and return the facade of its public names.

    `functions` are bound there first. Raises KeyError for a name that is not in NAMES, and RecursionError.
    """
    _run(name, space, functions or {})
    return facade(
        name, own={each: space[each] for each in space["__all__"]}, left_out=space.get("LEFT_OUT")
    )


def extend(made: Facade, name: str, new_space: Callable[[], dict[str, Any]]) -> Facade:
    """`made`, the facade of the module `name`, with the further members that its file here has.

    The file is run in a new space when one of them is first read.
    """
    spaces: list[dict[str, Any]] = []

    def member(word: str) -> Any:
        if not spaces:
            space = new_space()
            _run(name, space, {})
            spaces.append(space)
        return spaces[0][word]

    return extended(made, {word: functools.partial(member, word) for word in _MORE[name][1].split()})


@functools.cache  # a process that runs many sessions, as tests do, compiles each once
def _code(name: str) -> CodeType:
    return compile_cell(_source(name), source_bytes=_SOURCE_BYTES, ast_nodes=_AST_NODES, file=f"<{name}>")


def _run(name: str, space: dict[str, Any], functions: dict[str, Any]) -> None:
    try:
        code = _code(name)
    except CellRefused:  # no cell may have one: it could raise it again as its own end
        raise RecursionError(f"there is no room left on the stack, or in memory, to import {name}") from None
    space["__name__"] = name
    space.update(natives.TABLES.get(name, {}))
    space.update(functions)
    run(code, space)


#: Returns the facade of a module by its name.
Loader = Callable[[str], Facade]
