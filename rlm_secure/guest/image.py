"""Runs the guest from one file, which rlm_secure/environments/local/image.py makes.

It begins with the bytecode of this module. Behind it is that of all modules that a zygote imports, for each of which
the interpreter would otherwise look, and a table that says where each is:

    DIGEST NUL SHA256                             what it was made of
    NAME NUL FROM NUL TO NUL FILE (NUL FOLDER)*   for each module; a source has no name, but is read by its file's
    the table's bytes, as eight hexadecimal digits
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, SourcelessFileLoader

_LENGTH = 8


class Importer:
    """Finds modules in the bytes of such a file. What is not there is looked for in the standard library, as ever."""

    def __init__(self, image: bytes) -> None:
        end = len(image) - _LENGTH
        _, *lines = image[end - int(image[end:], 16) : end].decode().split("\n")
        self._modules: dict[str, tuple[str, list[str]]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._image = image
        for line in lines:
            name, start, stop, file, *folders = line.split("\0")
            self._places[file] = int(start), int(stop)
            if name:
                self._modules[name] = file, folders

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """What importing the module `name` needs to know; None for one that is not here."""
        if name not in self._modules:
            return None
        file, folders = self._modules[name]
        package = file.rpartition("/")[2].startswith("__init__.")
        spec = ModuleSpec(name, _Loader(name, file, self), origin=file, is_package=package)
        if spec.submodule_search_locations is not None:  # ours have none: what is not here is nowhere
            spec.submodule_search_locations += folders
        spec.has_location = True
        return spec

    def close(self) -> None:
        """Free the bytes. Nothing is found any more."""
        self._image = b""
        self._modules.clear()
        self._places.clear()

    def read(self, file: str) -> bytes:
        """The bytes of a file. Raises OSError for one that is not here."""
        if file not in self._places:
            raise OSError(f"no such file: {file}")
        start, stop = self._places[file]
        return self._image[start:stop]


class _Loader(SourcelessFileLoader):
    def __init__(self, name: str, file: str, importer: Importer) -> None:
        super().__init__(name, file)
        self._importer = importer

    def get_data(self, path: str) -> bytes:
        return self._importer.read(path)


if __name__ == "__main__":
    with open(int(sys.argv[0].rpartition("/")[2]), "rb", buffering=0) as opened:  # /proc/self/fd/N
        sys.meta_path.insert(0, Importer(os.pread(opened.fileno(), os.fstat(opened.fileno()).st_size, 0)))
    import_module("guest.main").main()
