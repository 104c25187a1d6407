"""Every module of the package that decodes or collects bytes, found in the source, with what it does it with.

It is one that calls what turns bytes into values (JSON, YAML, TOML, Python, base64, records, compressed data), reads
from a peer, or looks for something in a loop that has no list to end at.
"""

from __future__ import annotations

import ast

#: Modules, and their functions that decode.
_OF_MODULES = {
    "json": {"load", "loads", "JSONDecoder"},
    "ast": {"parse", "literal_eval"},
    "yaml": {"compose", "compose_all", "safe_load", "safe_load_all", "load", "load_all", "parse", "scan"},
    "tomllib": {"load", "loads"},
    "struct": {"unpack", "unpack_from", "iter_unpack"},
    "base64": {"b64decode", "b32decode", "b16decode", "urlsafe_b64decode", "standard_b64decode", "decodebytes"},
    "binascii": {"a2b_base64", "unhexlify", "a2b_hex"},
    "zlib": {"decompress", "decompressobj"},
    "gzip": {"decompress", "open", "GzipFile"},
    "csv": {"reader", "DictReader"},
    "shlex": {"split"},
    "pickle": {"loads", "load"},
    "marshal": {"loads", "load"},
    "urllib.parse": {"urlsplit", "urlparse", "parse_qs", "parse_qsl"},
    "os": {"read", "pread"},
    "wire": {"loads", "bound"},
    "socket": {"recv_fds"},
}
#: Functions of ours that decode, wherever they were imported from.
_OURS = {"rlm_secure.untrusted_json": {"loads", "bound"}, "rlm_secure.broker.protocol": {"decode", "event"}}
#: Methods that decode or read, of whatever object.
_METHODS = {
    "unpack", "unpack_from", "from_bytes", "validate_json", "raw_decode", "fromhex", "fromisoformat", "recv",
    "get_event", "recv_into", "recvmsg", "iter_bytes", "iter_lines", "iter_raw", "aiter_bytes", "aiter_lines", "aiter_raw", "aread",
}  # fmt: skip
#: Methods that search: in a loop, they may go over the same bytes again.
_SEARCHES = {"find", "rfind", "index", "rindex", "partition", "rpartition", "split", "count"}


def decoders(source: str) -> dict[str, int]:
    """What a module decodes with, and the first line of each."""
    tree = ast.parse(source)
    imported, names = _imports(tree)
    loops = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.While) for inner in ast.walk(node)}
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        called = _called(node, imported, names, id(node) in loops) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and called:
            found[called] = min(node.lineno, found.get(called, node.lineno))
    return found


def _imports(tree: ast.Module) -> tuple[dict[str, str], dict[str, str]]:
    """The modules that it knows, and the names that it took out of modules, as `module.name`."""
    modules: dict[str, str] = {}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname or each.name: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            for each in node.names:
                whole = f"{origin}.{each.name}".lstrip(".")
                modules[each.asname or each.name] = whole if whole in _OF_MODULES else each.name
                if each.name in _OF_MODULES.get(origin, _OURS.get(origin, ())):
                    names[each.asname or each.name] = whole
    return modules, names


def _called(call: ast.Call, modules: dict[str, str], names: dict[str, str], loops: bool) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return names.get(function.id, "").rpartition(".")[2] or ("compile" if function.id == "compile" else "")
    if not isinstance(function, ast.Attribute):
        return ""
    owner = ast.unparse(function.value)
    origin = modules.get(owner, owner)
    if function.attr in _OF_MODULES.get(origin, ()):
        return f"{origin}.{function.attr}"
    if function.attr in _METHODS:
        return function.attr
    return f"{function.attr} in a loop" if loops and function.attr in _SEARCHES else ""
