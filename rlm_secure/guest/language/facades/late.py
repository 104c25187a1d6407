"""Handles imports after sealing, when no file can be opened and cells have no `__import__`.

C code of the standard library imports modules while it runs: strftime of a date imports `time`, strptime imports
`_strptime`, sub of a pattern `re`, a long division `_pylong`. CPython looks up `__import__` in the builtins of the
*running* function, which is a cell's. `Builtins` is a module object around a cell's builtins: the interpreter reads
names from its dict, which has no `__import__`; only C's attribute look-up finds `loaded`, which returns None. C then
takes the module from sys.modules itself.
"""

from __future__ import annotations

import codecs
import functools
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def loaded(name: str, *_rest: Any) -> None:
    """The `__import__` for C code. Returns None. Raises ImportError for a module that is not loaded yet."""
    if name not in sys.modules:
        raise ImportError(f"{name} was not loaded before the session was sealed.")


class Builtins(ModuleType):
    """A module whose dict is a cell's builtins, and whose attribute `__import__` is `loaded`.

    For `globals["__builtins__"]`. Its `__dict__` only has `names`: no `open`, no `__import__`.
    """

    def __init__(self, names: Mapping[str, object]) -> None:
        super().__init__("builtins")
        table = self.__dict__
        table.clear()
        table.update(names)

    def __getattr__(self, name: str) -> Any:
        if name == "__import__":
            return loaded
        raise AttributeError(name)


# Modules that the standard library imports inside its functions, or its C code while it runs.
_MODULES = (
    "_strptime", "linecache", "traceback", "warnings", "stringprep", "weakref", "copy", "locale",
    "keyword", "numbers", "fractions", "decimal", "encodings.idna", "_pylong", "_sha2",
)  # fmt: skip

# Common text encodings of data. The module of a codec is imported when it is first used.
_CODECS = (
    "ascii", "latin-1", "utf-8", "utf-8-sig", "utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le",
    "utf-32-be", "cp437", "cp850", "cp852", "cp866", "cp874", "cp932", "cp936", "cp949", "cp950", "cp1250", "cp1251",
    "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859-1", "iso8859-2", "iso8859-3",
    "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-10", "iso8859-13",
    "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u", "mac-roman", "shift_jis", "euc_jp", "iso2022_jp",
    "gb2312", "gbk", "gb18030", "big5", "euc_kr", "idna", "punycode", "unicode_escape", "raw_unicode_escape",
)  # fmt: skip


@functools.cache
def import_all() -> None:
    """Import these modules and codecs, and fill the caches of C code. Once, however often it is called."""
    for name in _MODULES:
        try:
            import_module(name)
        except ModuleNotFoundError:
            continue  # _pylong and _sha2 are new in 3.12
    for name in _CODECS:
        codecs.lookup(name)
    time.strptime("2000", "%Y")  # compiles and caches the locale's patterns
