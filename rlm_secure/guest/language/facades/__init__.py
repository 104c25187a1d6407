"""What `import` binds in a cell: facades, one per module that a policy may name.

    load("json").dumps       a chosen member
    load("json").codecs      AttributeError: the sentence says why, and what there is

Importing this package imports every standard module behind it; `preload` does the rest that needs files, since
after a session is sealed none can be opened.
"""

from __future__ import annotations

import random
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
    "contextlib": functions.CONTEXTLIB,
    "copy": containers.COPY,
    "csv": binary.CSV,
    "dataclasses": dataclass.DATACLASSES,
    "datetime": times.DATETIME,
    "decimal": numeric.DECIMAL,
    "difflib": text.DIFFLIB,
    "enum": enums.ENUM,
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
    "pprint": text.PPRINT,
    "random": numeric.RANDOM,
    "re": text.RE,
    "statistics": numeric.STATISTICS,
    "string": text.STRING,
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

#: Every module that exists as a facade. Exact names: "json" says nothing about "json.tool".
NAMES: frozenset[str] = frozenset(_FACADES)

#: Packages that carry submodules and nothing of their own: `import urllib.parse` binds `urllib`.
PACKAGES: frozenset[str] = frozenset({"urllib"})

#: Classes of the standard library whose instances take plain attribute assignment: getcontext().prec = 50 is how
#: decimal is used, and a SimpleNamespace is nothing but its attributes.
WRITABLE: tuple[type, ...] = (Context, SimpleNamespace)


def load(name: str) -> Facade:
    """The facade called `name`; the same object every time. Raises KeyError for a name that is not in NAMES."""
    return _FACADES[name]


def preload() -> None:
    """Read every file that a facade may need later: time zones, text codecs, late imports. About 0.1 s, once.

    Makes the process's local time UTC.
    """
    times.use_utc()
    times.read_zones()
    late.import_all()
    unbound_methods.keep()


def reseed(seed: int | None = None) -> None:
    """Seed what the session draws from: with the kernel's help, or with `seed`, so that a session can be run again.

    Call it once in every forked session, before its first cell.
    """
    identity.new_key()
    numeric.GENERATOR.seed(seed)
    random.seed(numeric.GENERATOR.getrandbits(128))  # what statistics draws from


__all__ = ["NAMES", "PACKAGES", "WRITABLE", "Facade", "explain", "left_out", "load", "members", "preload", "reseed"]
