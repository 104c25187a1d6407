"""The child of platforms.run(): takes away what another system lacks, then runs a program.

`python become.py FD` has imported FIRST, which takes longer than any of the programs, and forks for each that it is sent
(forked.py): that process becomes another system, and ends as any other. Until then nothing of ours may be imported.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.abc
import os
import platform
import select
import selectors
import shutil
import socket
import ssl
import sys
import types
from collections.abc import Callable
from typing import Any

from tests import forked

#: Imported first, since they decide at their import what this system is.
FIRST = (
    "asyncio", "subprocess", "socket", "ssl", "selectors", "tempfile", "shutil", "pathlib", "zipfile", "zoneinfo",
    "importlib.metadata", "concurrent.futures.thread", "logging.handlers", "email.parser", "http.client", "py_compile",
    "decimal", "uuid", "getpass", "locale", "mimetypes", "webbrowser", "multiprocessing.synchronize", "pydantic", "openai",
    "httpx", "rich.console", "rich.table", "rich.progress", "psutil", "RestrictedPython", "yaml", "pytest",
    "docker", "docker.errors", "e2b_code_interpreter", "modal", "daytona", "prime_sandboxes", "kubernetes",
    "openai.resources.chat", "openai.resources.responses",
)  # fmt: skip
#: machine and release as platform.uname() has them there.
SYSTEMS = {"win32": ("Windows", "AMD64", "11"), "darwin": ("Darwin", "arm64", "24.6.0")}
WITH_FOLDER = ("open", "stat", "mkdir", "unlink", "rename", "replace", "access", "rmdir", "readlink", "symlink", "link")


class Refused(importlib.abc.MetaPathFinder):
    """No module of these names."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in self.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def without_folders(real: Callable[..., Any]) -> Callable[..., Any]:
    """A function of os that takes no descriptor of a folder, and opens none."""

    @functools.wraps(real)
    def call(*arguments: Any, **options: Any) -> Any:
        for name in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            if options.pop(name, None) is not None:
                raise NotImplementedError(f"{name} unavailable on this platform")
        if real.__name__ == "open" and os.path.isdir(arguments[0]):
            raise PermissionError(13, "Permission denied", arguments[0])
        return real(*arguments, **options)

    return call


def _no_library(name: str) -> str:
    """As `ctypes.macholib.dyld.dyld_find`, where there is no such library."""
    raise ValueError(f"dylib {name} could not be found")


def become(target: str, lacking: dict[str, list[str]]) -> None:
    """Make this interpreter, which has imported FIRST, look like one on `target`."""
    # Stand-ins for what the standard library does there by other means: kqueue, a pair of sockets of TCP.
    # Debian's Python is without the module by which a Mac finds its libraries.
    for name in ("ctypes.macholib", "ctypes.macholib.dyld"):
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].dyld_find = _no_library  # type: ignore[attr-defined]
    selectors.select = types.SimpleNamespace(**vars(select))  # type: ignore[attr-defined]
    pair = functools.partial(socket.socketpair, socket.AF_UNIX)
    if target == "win32":
        socket.socketpair = lambda *_: pair()  # type: ignore[assignment]
    gone = {module for module, names in lacking.items() if names == ["*"]}
    sys.meta_path.insert(0, Refused(gone))
    for module in gone:
        sys.modules.pop(module, None)
    for module, names in lacking.items():
        for name in names if module not in gone else ():
            if hasattr(loaded := importlib.import_module(module), name):
                delattr(loaded, name)
    if target == "win32":
        os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), {os.stat}, {os.stat}
        shutil._use_fd_functions = False  # type: ignore[attr-defined]
        scandir, library = os.scandir, ctypes.CDLL.__init__
        for name in WITH_FOLDER:
            setattr(os, name, without_folders(getattr(os, name)))

        def listed(path: Any = ".") -> Any:
            if isinstance(path, int):
                raise TypeError("scandir: path should be string, bytes, os.PathLike or None, not int")
            return scandir(path)

        def loaded_library(self: Any, name: str | None, *arguments: Any, **options: Any) -> None:
            if name is None:
                raise TypeError("argument of type 'NoneType' is not iterable")
            library(self, name, *arguments, **options)

        os.scandir = listed  # type: ignore[assignment]
        ctypes.CDLL.__init__ = loaded_library  # type: ignore[method-assign]
        ssl.SSLContext._load_windows_store_certs = lambda *_: None  # type: ignore[attr-defined, method-assign]
    system, machine, release = SYSTEMS[target]
    sys.platform = target
    platform.system, platform.machine, platform.release = lambda: system, lambda: machine, lambda: release


def load() -> None:
    """Import FIRST."""
    for name in FIRST:
        try:
            importlib.import_module(name)
        except ImportError:  # an SDK that is not installed here
            pass


if __name__ == "__main__":
    load()
    asked = forked.serve(socket.socket(fileno=int(sys.argv[1])))
    become(asked["platform"], asked["absent"])
    exec(compile(asked["program"], "program", "exec"), {"__name__": "__main__"})
