"""The objects that `import` binds in a cell: facades, one per module that a policy may name.

    load("json").dumps       a chosen member
    load("json").codecs      AttributeError: its text says why, and what is available

Importing this package imports all standard modules that it needs. `preload` does everything else that needs files,
because none can be opened after a session is sealed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Context
from types import SimpleNamespace

from .. import held_memory, ordered_dict, unbound_methods, unicode_errors
from . import (
    binary,
    borrowed,
    classes,
    containers,
    contexts,
    dataclass,
    enums,
    functions,
    identity,
    instances,
    late,
    numeric,
    shared,
    system,
    text,
    times,
    web,
)
from .facade import Facade, explain, left_out, members

unbound_methods.keep()
borrowed.keep()
contexts.keep()
instances.keep()
shared.keep()
unicode_errors.keep()
held_memory.keep()
ordered_dict.keep()

_FACADES: dict[str, Facade] = {
    "abc": classes.ABC,
    "ast": text.AST,
    "base64": binary.BASE64,
    "binascii": binary.BINASCII,
    "bisect": containers.BISECT,
    "calendar": times.CALENDAR,
    "cmath": numeric.CMATH,
    "collections": containers.COLLECTIONS,
    "collections.abc": containers.COLLECTIONS_ABC,
    "colorsys": numeric.COLORSYS,
    "contextlib": functions.CONTEXTLIB,
    "copy": containers.COPY,
    "csv": binary.CSV,
    "dataclasses": dataclass.DATACLASSES,
    "datetime": times.DATETIME,
    "decimal": numeric.DECIMAL,
    "difflib": text.DIFFLIB,
    "enum": enums.ENUM,
    "fnmatch": text.FNMATCH,
    "fractions": numeric.FRACTIONS,
    "functools": functions.FUNCTOOLS,
    "hashlib": binary.HASHLIB,
    "heapq": containers.HEAPQ,
    "html": text.HTML,
    "io": binary.IO,
    "itertools": functions.ITERTOOLS,
    "json": text.JSON,
    "math": numeric.MATH,
    "numbers": numeric.NUMBERS,
    "operator": functions.OPERATOR,
    "os": system.OS,
    "os.path": system.OS_PATH,
    "pprint": text.PPRINT,
    "random": numeric.RANDOM,
    "re": text.RE,
    "shlex": text.SHLEX,
    "statistics": numeric.STATISTICS,
    "string": text.STRING,
    "sys": system.SYS,
    "textwrap": text.TEXTWRAP,
    "time": times.TIME,
    "types": classes.TYPES,
    "typing": classes.TYPING,
    "unicodedata": text.UNICODEDATA,
    "urllib": web.URLLIB,
    "urllib.parse": web.URLLIB_PARSE,
    "uuid": binary.UUID,
    "zlib": binary.ZLIB,
    "zoneinfo": times.ZONEINFO,
}

#: Every module that has a facade, by its exact name: "json" does not include "json.tool".
NAMES: frozenset[str] = frozenset(_FACADES)

#: Packages that only have submodules: `import urllib.parse` binds `urllib`.
PACKAGES: frozenset[str] = frozenset({"concurrent", "urllib"})

#: Classes of the standard library on whose instances a cell may assign attributes: decimal is used with
#: getcontext().prec = 50, and a SimpleNamespace only consists of its attributes.
WRITABLE: tuple[type, ...] = (Context, SimpleNamespace)

#: Third-party modules beside a package, granted with it. Set in the zygote.
PARENTS: dict[str, str] = {}


#: Seed what packages draw numbers from; each takes a list of 32-bit numbers. Set in the zygote.
SEEDS: list[Callable[[list[int]], object]] = []


def load(name: str) -> Facade:
    """The facade called `name`, always the same object. Raises KeyError for a name that is not in NAMES."""
    return _FACADES[name]


def add(name: str, made: Facade) -> None:
    """Add the facade of a third-party module. Called in the zygote."""
    global NAMES
    _FACADES[name] = made
    NAMES |= {name}


def preload() -> None:
    """Read every file that a facade may need later: time zones, text codecs, late imports. About 10 ms, once.

    Makes the process's local time UTC.
    """
    times.use_utc()
    times.read_zones()
    late.import_all()
    unbound_methods.keep()


def reseed(seed: int | None = None) -> None:
    """Seed the session's random numbers, from the kernel or with `seed`, which makes a session repeatable.

    Call it once in every forked session, before its first cell.
    """
    identity.new_key()
    numeric.GENERATOR.seed(seed)
    random.seed(numeric.GENERATOR.getrandbits(128))  # used by statistics
    for each in SEEDS:
        each([numeric.GENERATOR.getrandbits(32) for _ in range(4)])


__all__ = [
    "NAMES", "PACKAGES", "PARENTS", "SEEDS", "WRITABLE", "Facade", "explain", "left_out", "load", "members", "preload",
    "reseed",
]  # fmt: skip
