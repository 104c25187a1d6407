"""Text: string, re, json, ast, textwrap, unicodedata, difflib, pprint, html, fnmatch, shlex."""

from __future__ import annotations

import ast
import difflib
import fnmatch
import html
import json
import pprint
import re
import shlex
import string
import textwrap
import unicodedata
from collections.abc import Callable
from typing import Any

from ..registry import derives, is_class
from .data import functions
from .facade import facade
from .shared import exact_text, pattern_functions
from .system import redirections

STRING = facade(
    "string",
    string,
    take="ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation whitespace",
    own=functions(string, "capwords"),
    left_out={"Formatter": "it walks from a format field to any attribute; use str.format or an f-string"},
)

# Patterns and flags are exact, because they are the keys of a cache. sub takes a callable or a template. A pattern with
# catastrophic backtracking is limited by the wall-clock time. Patterns and matches only lead to strings and to each
# other (.re, .string).
RE = facade(
    "re",
    re,
    take="A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE VERBOSE X "
    "error purge",
    newer="PatternError",
    own=pattern_functions(),
    left_out={
        "DEBUG": "it prints the parsed pattern past the cell's print",
        "Scanner": "undocumented, and it carries the parser's state; use re.finditer",
        "T TEMPLATE template": "deprecated, and gone from Python 3.13",
        "copyreg enum functools": "a module, and it leads to sys",
    },
)


def dumps(
    obj: Any,
    *,
    skipkeys: bool = False,
    ensure_ascii: bool = True,
    check_circular: bool = True,
    allow_nan: bool = True,
    cls: type[json.JSONEncoder] | None = None,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    default: Callable[[Any], Any] | None = None,
    sort_keys: bool = False,
) -> str:
    """json.dumps; `cls` must be a subclass of json.JSONEncoder."""
    if cls is not None and not (is_class(cls) and derives(cls, json.JSONEncoder)):
        raise TypeError("json.dumps takes as cls a subclass of json.JSONEncoder; or pass default=a function.")
    return json.dumps(
        obj,
        skipkeys=skipkeys,
        ensure_ascii=ensure_ascii,
        check_circular=check_circular,
        allow_nan=allow_nan,
        cls=cls,
        indent=indent,
        separators=separators,
        default=default,
        sort_keys=sort_keys,
    )


def dump(obj: Any, fp: Any, **options: Any) -> None:
    """Write `dumps(obj)` to an io.StringIO or to anything else that has write()."""
    fp.write(dumps(obj, **options))


def loads(
    s: str | bytes | bytearray,
    *,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    strict: bool = True,
) -> Any:
    """json.loads without `cls`, of plain text."""
    s = exact_text(s)
    options: dict[str, Any] = {} if strict else {"strict": strict}  # any extra argument leaves the cached decoder
    return json.loads(
        s,
        object_hook=object_hook,
        parse_float=parse_float,
        parse_int=parse_int,
        parse_constant=parse_constant,
        object_pairs_hook=object_pairs_hook,
        **options,
    )


def load(fp: Any, **options: Any) -> Any:
    """`loads` of the whole result of `fp.read()`."""
    return loads(fp.read(), **options)


JSON = facade(
    "json",
    json,
    take="JSONDecodeError JSONDecoder JSONEncoder",
    own={"dumps": dumps, "loads": loads, "dump": dump, "load": load},
    left_out={
        "codecs": "a module, and json.codecs.open opens files",
        "decoder encoder scanner": "a module, and its tables could be changed for every later caller",
        "detect_encoding": "internal; bytes are decoded by json.loads",
        "tool": "a module, and it holds sys and argparse",
    },
)


def literal_eval(source: str) -> Any:
    """ast.literal_eval of a plain str. Raises ValueError or SyntaxError for text that is no literal.

    It parses, and builds values from constants and displays; it runs nothing. It does not accept a syntax tree, which
    cells cannot have anyway.
    """
    if type(source) is not str:
        raise TypeError(f"ast.literal_eval takes a plain str here, not {type(source).__name__}.")
    return ast.literal_eval(source)


AST = facade(
    "ast",
    ast,
    own={"literal_eval": literal_eval},
    left_out={
        " ".join(name for name in dir(ast) if name != "literal_eval"): "syntax trees are the compiler's; only literals "
        "are read here",
    },
)


TEXTWRAP = facade(
    "textwrap",
    textwrap,
    take="TextWrapper",
    own=functions(textwrap, "dedent fill indent shorten wrap", indent="predicate"),
    left_out={"re": "a module; import re"},
)

UNICODEDATA = facade(
    "unicodedata",
    unicodedata,
    take="bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored "
    "name normalize numeric unidata_version",
    left_out={"UCD ucd_3_2_0": "the database of Unicode 3.2, which only IDNA needs"},
)

DIFFLIB = facade(
    "difflib",
    difflib,
    # SequenceMatcher only compares and hashes its items, which can be of any class.
    take="Differ IS_CHARACTER_JUNK IS_LINE_JUNK Match SequenceMatcher",
    own=functions(
        difflib, "context_diff get_close_matches ndiff restore unified_diff", ndiff="linejunk charjunk"
    ),
    left_out={
        "HtmlDiff": "nothing in a cell shows HTML; use difflib.unified_diff",
        "diff_bytes": "it calls a function by a protocol of its own; decode the bytes first",
    },
)

# For an unknown object it only calls repr(). It writes to sys.stdout, which in a worker is the cell's own output.


def _to_output(function: Callable[..., None]) -> Callable[..., None]:
    """`function` of pprint, which writes where sys.stdout of the cell does."""

    def printing(object: Any, stream: Any = None, *values: Any, **options: Any) -> None:  # noqa: A002 - its name
        function(object, redirections.get("stdout") if stream is None else stream, *values, **options)

    printing.__name__ = printing.__qualname__ = function.__name__
    return printing


PPRINT = facade(
    "pprint",
    pprint,
    take="PrettyPrinter isreadable isrecursive pformat saferepr",
    own={"pp": _to_output(pprint.pp), "pprint": _to_output(pprint.pprint)},
)

HTML = facade(
    "html",
    html,
    own=functions(html, "escape unescape"),
    left_out={"entities": "a module of mutable tables; use html.unescape"},
)

FNMATCH = facade("fnmatch", fnmatch, own=functions(fnmatch, "filter filterfalse fnmatch fnmatchcase translate"))


def split(s: str, comments: bool = False, posix: bool = True) -> list[str]:
    """shlex.split of a text; the original reads standard input for None."""
    s = exact_text(s)
    if type(s) is not str:
        raise TypeError(f"shlex.split takes a str, not {type(s).__name__}.")
    return shlex.split(s, bool(comments), bool(posix))


SHLEX = facade(
    "shlex",
    shlex,
    own={"split": split, **functions(shlex, "join quote")},
    left_out={"shlex": "it reads on from files that its text names; use shlex.split"},
)
