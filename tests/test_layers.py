"""The architecture, as a failing test: who may import whom, and which files may hold dangerous tools.

Each rule is a function from one module's source to its violations, so that every rule has a control: a
planted violation that it must catch.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import rlm_secure

PACKAGE = Path(rlm_secure.__file__).parent

#: From bottom to top. A module imports from its own row or from rows above it in this list, never the other way.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("types", "errors", "decision", "causes", "documents", "files", "forks", "guarantees", "inert", "interpreters", "late", "loggers", "pickling", "plural")
    + ("registry", "removal", "sha256", "threads", "untrusted_json", "tagged", "turns", "values"),
    ("resources", "checks"),
    ("policy",),
    ("clients",),
    ("broker",),
    ("tools",),
    ("environments",),
    ("events", "logger"),
    ("rlm",),
    ("agents",),
    ("sandbox", "scale"),
    ("async_sandbox",),
    ("compat",),
    ("testing",),
    ("audit",),
    ("cli", "__main__"),
)
RANKS = {name: rank for rank, row in enumerate(LAYERS) for name in row}
#: `from rlm_secure import RLM, Sandbox`: the library face sits just above both.
RANKS[""] = RANKS["sandbox"]

GUEST_MAY_IMPORT = frozenset({"RestrictedPython"})
#: What its folder `packages` may import as well, from where the host has it.
PACKAGES = frozenset({"numpy", "pandas", "matplotlib"})

#: The folders of environments: none imports another, and what they share imports none of them.
KINDS_OF_ENVIRONMENT = ("local", "docker", "cloud")
#: Private attributes of other packages, and of the standard library, each with the reason.
FOREIGN_PRIVATES: dict[str, dict[str, str]] = {
    "*": {
        "_exit": "ends a forked process without what its parent would do at exit",
        "_SubParsersAction": "argparse gives this class no public name",
        "_ArgumentGroup": "the same",
    },
    "clients/transport.py": {
        "_transport": "httpx has no way to bound a response of a client that somebody else made",
        "_mounts": "the same, for its proxies",
        "_pool": "the connections of a transport of httpx, whose streams are bounded here",
        "_network_backend": "the same",
    },
    "checks/patterns.py": {"_combine_flags": "flags of a part of a pattern, computed as the standard library does"},
    "environments/cloud/modal.py": {"_get_loop": "the SDK's own event loop, on which its streams are read"},
    "environments/cloud/prime.py": {
        "_auth_cache": "the SDK writes tokens to a file of the user's, and has no setting against it",
        "_get_gateway_client": "the HTTP client to a sandbox's gateway, which would follow redirects",
        "_reconnect": "the SDK would join its process again after up to 8 s, without what was said meanwhile",
        "_pump_task": "the SDK's own way out sends signals first",
    },
}

#: Never imported, anywhere: each runs code that it reads, or pickles behind the scenes.
BANNED = frozenset(
    {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "multiprocessing"}
)
#: The one line that names one of them: a mark on bytes that Ray need not copy, and nothing that reads.
MARK = ("scale/contexts.py", "from pickle import PickleBuffer")

#: Modules that reach past Python, and the only files that may import them, each with its reason.
NAMED_FILES: dict[str, dict[str, str]] = {
    "ctypes": {
        "guest/kernel/seal.py": "the kernel calls that raise the walls have no wrapper in the standard library",
        "guest/kernel/stack.py": "where the stack ends is a symbol of the C library",
        "guest/language/held_memory.py": "gives classes of the interpreter methods that hold what they ask an object about",
        "guest/language/unbound_methods.py": "takes methods of the interpreter from instructions that do not ask for an argument",
        "guest/session/memory.py": "maps the context that the host shares, without a copy",
        "guest/packages/hooks.py": "numpy keeps the names that it asks objects for in its own memory alone",
        "guest/language/unicode_errors.py": "gives classes of the interpreter a text that reads nothing out of bounds",
        "environments/context.py": "fills a sealed memory file from a str, without a copy",
        "environments/seccomp.py": "asks the loader for libseccomp, as no search needs to look for its file",
        "removal.py": "staying on one mount, and taking off what is mounted, have no wrapper in the standard library",
        "testing/nested.py": "entering namespaces has no wrapper in the standard library of Python 3.11",
        "testing/launch.py": "gives a control mounts of its own, so that the attack that wins there harms nothing",
        "testing/arena/build.py": "makes the mounts and namespaces of an arena, with the interpreter alone",
    },
    "subprocess": {
        "environments/local/launch.py": "starts the one clean process that sessions are forked from",
        "environments/local/zygote.py": "waits for that process at its end",
        "environments/local/image.py": "asks a new interpreter what that process will import",
        "environments/local/startup.py": "waits for that process where it does not come up",
        "agents/tables/read.py": "starts the process in which a file of somebody else's is parsed",
        "testing/control.py": "runs an attack where no wall stands, to show that it works there",
        "testing/processes.py": "starts the processes that attacks aim at",
        "testing/arena/__init__.py": "starts the program that builds an arena",
        "testing/foreign.py": "starts the program that holds sessions of somebody else's",
        "testing/yardstick.py": "measures what the machine gives, beside what is attacked",
        "audit/probes.py": "talks to the attacker in an arena through pipes",
        "cli/demo.py": "passes on what the attacks in the arena print",
    },
}

#: Host files that may parse Python, each with its reason.
PARSERS = {"audit/read/code.py": "reads programs of the user's own, which are about to run; never what a model wrote"}

#: The readers of JSON, one on each side: they bound depth and digits before a parser sees a byte.
JSON_READERS = ("untrusted_json.py", "guest/wire.py")
#: What else parses JSON, each with the reason why nobody else wrote it.
TRUSTED_JSON: dict[str, str] = {
    "checks/schema.py": "a copy of the caller's own schema",
    "checks/typed.py": "a value that was decoded, written anew for a validator",
    "tools/toolbox.py": "results that were written here",
    "policy/load.py": "a policy that tomllib has read, written anew for a validator",
    "cli/options.py": "an argument of the command that the user typed",
    "environments/seccomp.py": "a profile that is part of the package",
    "audit/attack.py": "the job of the command outside, by whom this program was started",
    "audit/probes.py": "a subject whose bytes are bounded on the line before",
    "testing/launch.py": "the job of the judge, by whom this program was started; it has the interpreter alone",
    "testing/host.py": "requests of the judge, by whom this program was started",
    "testing/arena/build.py": "the job of the command outside; it has the interpreter alone",
    "testing/arena/attempts.py": "a request of the command outside, by whom this program was started",
    "guest/session/memory.py": "a context that the host itself wrote, of any size, in a worker that nobody else shares",
    "guest/language/facades/text.py": "what a cell parses, in its own process",
}
PARSES_JSON = frozenset({"load", "loads", "JSONDecoder", "scan_once", "raw_decode", "from_json"})

#: The only file that turns text into code.
COMPILER = "guest/language/compiler.py"
CODE_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})


@functools.cache  # each rule looks at every module
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of one module. Nobody may change one."""
    return tuple(ast.walk(ast.parse(source)))


@dataclass(frozen=True)
class Import:
    """One import statement: the absolute dotted module, and whether it was written with leading dots."""

    module: str
    line: int
    relative: bool


@functools.cache  # nearly every rule asks
def imports(path: str, source: str) -> tuple[Import, ...]:
    """The modules that a file imports, at any depth, for types alone as well; `path` is relative to the package."""
    found = []
    package = ["rlm_secure", *Path(path).parent.parts]
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, relative=False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from rlm_secure import errors` and `from . import wire` import a submodule
                submodule = f"{module}.{alias.name}"
                known = module_exists(submodule)
                found.append(Import(submodule if known else module, node.lineno, relative=bool(node.level)))
        elif isinstance(node, ast.Call) and dynamic_import(node):
            found.append(Import(str(node.args[0].value), node.lineno, relative=False))  # type: ignore[attr-defined]
    return tuple(found)


def dynamic_import(call: ast.Call) -> bool:
    """Whether a call is `import_module("literal")` or `__import__("literal")`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    literal = bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    return name in {"import_module", "__import__"} and literal


def module_exists(dotted: str) -> bool:
    """Whether a dotted name is a module of this package."""
    parts = dotted.split(".")
    if parts[0] != "rlm_secure":
        return False
    path = PACKAGE.joinpath(*parts[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def unit(dotted: str) -> str:
    """The layer unit of a dotted module of this package: its first part, "" for the package itself."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and (parts[1] in RANKS or module_exists(".".join(parts[:2]))) else ""


def upward_imports(path: str, source: str) -> list[str]:
    """Imports from a higher layer, and host imports of the guest."""
    if path.startswith("guest/") or path == "__init__.py":
        return []
    own = Path(path).parts[0].removesuffix(".py")
    if own not in RANKS:
        return [f"{path}: {own!r} is in no layer; give it a place in LAYERS"]
    found = []
    for each in imports(path, source):
        if each.module.split(".")[0] != "rlm_secure":
            continue
        target = unit(each.module)
        if target == "guest":
            found.append(f"{path}:{each.line} imports {each.module}: the host never runs guest code")
        elif target not in RANKS:
            found.append(f"{path}:{each.line} imports {each.module}, which is in no layer")
        elif RANKS[target] > RANKS[own]:
            found.append(f"{path}:{each.line} imports {each.module}, which is above {own}")
    return found


def environments_apart(path: str, source: str) -> list[str]:
    """Imports of one kind of environment by another, or by what all of them share."""
    if not path.startswith("environments/"):
        return []
    others = {kind for kind in KINDS_OF_ENVIRONMENT if kind != Path(path).parts[1]}
    return [
        f"{path}:{each.line} imports {each.module}; environments share what lies beside them"
        for each in imports(path, source)
        if each.module.startswith("rlm_secure.environments.")
        and each.module.split(".")[2] in others
    ]


def others_privates(path: str, source: str) -> list[str]:
    """On the host: private attributes of objects of another file. The loop uses those of its own object alone."""
    if path.startswith("guest/"):
        return []  # facades patch the interpreter's own classes, and say so
    loop = path.startswith("rlm/")
    own = {each.attr for each in private_attributes(source) if isinstance(each.value, ast.Name) and each.value.id == "self"}
    return [
        f"{path}:{each.lineno} uses {ast.unparse(each)}; what others use has a public name"
        for each in private_attributes(source)
        if ast.unparse(each.value) not in {"self", "cls", "super()"}
        if loop or not (isinstance(each.value, ast.Name) and each.attr in own)
        if each.attr not in FOREIGN_PRIVATES.get(path, {}) and each.attr not in FOREIGN_PRIVATES["*"]
    ]


@functools.cache
def private_attributes(source: str) -> list[ast.Attribute]:
    """Every use of an attribute whose name starts with one underscore."""
    return [
        node
        for node in nodes(source)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    ]


def compat_above_all(path: str, source: str) -> list[str]:
    """Imports of upstream's paths by anything else: they are there for users alone."""
    if path.startswith("compat/"):
        return []
    return [
        f"{path}:{each.line} imports {each.module}; take the class from the room that defines it"
        for each in imports(path, source)
        if each.module.startswith("rlm_secure.compat")
    ]


def dotted(path: str) -> str:
    """The name of the module in a file."""
    return ".".join(["rlm_secure", *Path(path).with_suffix("").parts]).removesuffix(".__init__")


@functools.cache
def imported(path: str, source: str) -> frozenset[str]:
    """The modules of this package that a file imports."""
    return frozenset(each.module for each in imports(path, source) if module_exists(each.module))


def circle(modules: Mapping[str, str]) -> list[str]:
    """A circle of modules that import each other, for types alone as well; nothing where there is none."""
    graph = {dotted(path): imported(path, source) - {dotted(path)} for path, source in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def foreign_guest_imports(path: str, source: str) -> list[str]:
    """Guest imports of anything but the standard library, RestrictedPython and relative siblings.

    One folder imports third-party packages, in the zygote that is for sessions whose policy gives them.
    """
    if not path.startswith("guest/"):
        return []
    found = []
    for each in imports(path, source):
        top = each.module.split(".")[0]
        if each.relative:
            if not each.module.startswith("rlm_secure.guest"):
                found.append(f"{path}:{each.line} imports {each.module}, outside the guest")
        elif path.startswith("guest/packages/") and top in PACKAGES:
            continue
        elif (path, each.module) == ("guest/image.py", "guest.main"):  # it is run as a program, without a package
            continue
        elif top not in sys.stdlib_module_names and top not in GUEST_MAY_IMPORT:
            found.append(f"{path}:{each.line} imports {each.module}; the guest has the standard library only")
    return found


#: Folders and files of the guest that are above others -> what they may import of it. The rest imports itself alone.
GUEST_LAYERS = {
    "kernel": {"wire"},
    "session": {"language", "kernel", "wire"},
    "packages": {"language"},
    "zygote": {"session", "packages", "language", "kernel", "wire"},
    "supervisor": {"zygote", "kernel", "wire"},
    "main": {"zygote", "supervisor"},
}


def upward_guest_imports(path: str, source: str) -> list[str]:
    """Imports of a folder of the guest that is above the importing one, or beside it."""
    if not path.startswith("guest/"):
        return []
    own = Path(path).parts[1].removesuffix(".py")
    allowed = GUEST_LAYERS.get(own, set()) | {own}
    return [
        f"{path}:{each.line} imports {each.module}, which is not below {own}"
        for each in imports(path, source)
        if each.module.startswith("rlm_secure.guest.") and each.module.split(".")[2] not in allowed
    ]


#: The modules of the loop, from bottom to top. Each imports from rows above its own in this list alone.
RLM_LAYERS: tuple[tuple[str, ...], ...] = (
    ("answers", "budget", "deltas", "loops", "parsing", "prompts", "slots"),
    ("compaction", "config", "tree"),
    ("assembly", "batch", "children", "handler"),
    ("completion",),
    ("rlm",),
)
RLM_RANKS = {name: rank for rank, row in enumerate(RLM_LAYERS) for name in row}


def upward_rlm_imports(path: str, source: str) -> list[str]:
    """Imports of a module of the loop that is above the importing one, or beside it, or in no row."""
    if not path.startswith("rlm/"):
        return []
    own = Path(path).parts[1].removesuffix(".py")
    below = {name for name, rank in RLM_RANKS.items() if rank < RLM_RANKS.get(own, 0)}
    return [
        f"{path}:{each.line} imports {each.module}, which is not below {own} in RLM_LAYERS"
        for each in imports(path, source)
        if each.module.startswith("rlm_secure.rlm.") and each.module.split(".")[2] not in below | {own}
    ]


def banned_imports(path: str, source: str) -> list[str]:
    """Imports of modules that run what they read."""
    return [
        f"{path}:{each.line} imports {each.module}"
        for each in imports(path, source)
        if each.module.split(".")[0] in BANNED and (path, source.splitlines()[each.line - 1]) != MARK
    ]


def unnamed_tools(path: str, source: str) -> list[str]:
    """Imports of ctypes or subprocess in a file that is not named for it."""
    return [
        f"{path}:{each.line} imports {each.module}; name the file and its reason in NAMED_FILES"
        for each in imports(path, source)
        if path not in NAMED_FILES.get(each.module.split(".")[0].lstrip("_"), {path: ""})
    ]


def code_from_text(path: str, source: str) -> list[str]:
    """Calls of, and references to, the builtins that turn text into code; and os.system and its kind."""
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Name) and node.id in CODE_BUILTINS and path != COMPILER:
            found.append(f"{path}:{node.lineno} uses {node.id}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            dotted = f"{node.value.id}.{node.attr}"
            code = node.value.id in {"builtins", "__builtins__"} and node.attr in CODE_BUILTINS
            shell = node.value.id == "os" and node.attr in {"system", "popen"}
            if (code and path != COMPILER) or shell:
                found.append(f"{path}:{node.lineno} uses {dotted}")
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                found.append(f"{path}:{node.value.lineno} passes shell=")
    return found


def host_parsers(path: str, source: str) -> list[str]:
    """Imports of Python parsers on the host, which never parses what a model wrote."""
    if path.startswith("guest/") or path in PARSERS:
        return []
    return [
        f"{path}:{each.line} imports {each.module}; the host never parses untrusted source"
        for each in imports(path, source)
        if each.module.split(".")[0] in {"ast", "codeop", "code", "tokenize", "symtable", "RestrictedPython"}
    ]


def unbounded_json(path: str, source: str) -> list[str]:
    """Parsers of JSON beside the two readers that bound it first."""
    if path in JSON_READERS or path in TRUSTED_JSON:
        return []
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Attribute):
            of_json = isinstance(node.value, ast.Name) and node.value.id == "json" and node.attr in PARSES_JSON
            if of_json or node.attr in {"validate_json", "model_validate_json", "scan_once", "raw_decode"}:
                found.append(f"{path}:{node.lineno} uses {ast.unparse(node)}; use untrusted_json.loads, or wire.loads")
        elif isinstance(node, ast.ImportFrom) and node.module == "json":
            found += [f"{path}:{node.lineno} imports {each.name}" for each in node.names if each.name in PARSES_JSON]
    return found


RULES = (
    unbounded_json,
    upward_imports,
    foreign_guest_imports,
    upward_guest_imports,
    upward_rlm_imports,
    environments_apart,
    others_privates,
    compat_above_all,
    banned_imports,
    unnamed_tools,
    code_from_text,
    host_parsers,
)
MODULES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
    if "_data" not in path.parts
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module_breaks_the_rule(rule) -> None:
    assert [found for path, source in MODULES.items() for found in rule(path, source)] == []


@pytest.mark.parametrize(
    ("rule", "path", "source"),
    [
        (upward_imports, "errors.py", "from rlm_secure.policy import gate"),
        (upward_imports, "errors.py", "def late():\n    import rlm_secure.policy.model"),
        (upward_imports, "errors.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import rlm_secure.rlm.rlm"),
        (upward_imports, "policy/gate.py", "from ..environments import interface"),
        (upward_imports, "environments/docker.py", "from rlm_secure import RLM"),
        (upward_imports, "environments/docker.py", "import importlib\nimportlib.import_module('rlm_secure.cli')"),
        (upward_imports, "rlm/rlm.py", "from rlm_secure.cli import main"),
        (upward_imports, "rlm/parsing.py", "from rlm_secure.sandbox import Sandbox"),
        (upward_imports, "rlm/budget.py", "from rlm_secure import Sandbox"),
        (upward_imports, "environments/repl.py", "from rlm_secure.guest import wire"),
        (upward_imports, "environments/repl.py", "from rlm_secure.guest.wire import read"),
        (upward_imports, "manager.py", "import json"),
        (foreign_guest_imports, "guest/session/worker.py", "import psutil"),
        (foreign_guest_imports, "guest/session/worker.py", "import numpy"),
        (foreign_guest_imports, "guest/packages/warm.py", "import scipy"),
        (upward_guest_imports, "guest/language/guards.py", "from ..packages import rules"),
        (upward_guest_imports, "guest/packages/rules.py", "from ..session import repl"),
        (foreign_guest_imports, "guest/session/worker.py", "from rlm_secure import errors"),
        (foreign_guest_imports, "guest/session/worker.py", "from rlm_secure.guest import wire"),
        (foreign_guest_imports, "guest/session/worker.py", "from ... import errors"),
        (upward_guest_imports, "guest/language/guards.py", "from ..session import repl"),
        (upward_guest_imports, "guest/kernel/probes.py", "from ..session import memory"),
        (upward_guest_imports, "guest/zygote/zygote.py", "from ..supervisor.worker_link import Leash"),
        (upward_guest_imports, "guest/wire.py", "from .kernel import seal"),
        (upward_rlm_imports, "rlm/parsing.py", "from rlm_secure.rlm.handler import LMHandler"),
        (upward_rlm_imports, "rlm/budget.py", "from rlm_secure.rlm import tree"),
        (upward_rlm_imports, "rlm/prompts/sets.py", "from ..config import RunConfig"),
        (upward_rlm_imports, "rlm/handler.py", "def late():\n    from rlm_secure.rlm.batch import run"),
        (upward_rlm_imports, "rlm/completion.py", "from rlm_secure.rlm.rlm import RLM"),
        (upward_rlm_imports, "rlm/__init__.py", "from rlm_secure.rlm.slots import ChildSlots"),
        (upward_rlm_imports, "rlm/manager.py", "from rlm_secure.rlm.slots import ChildSlots"),
        (environments_apart, "environments/repl.py", "from rlm_secure.environments.local import LocalEnvironment"),
        (environments_apart, "environments/local/session.py", "from rlm_secure.environments.cloud import lease"),
        (environments_apart, "environments/docker/engine.py", "from ..local import cgroup"),
        (environments_apart, "environments/remote/lease.py", "from rlm_secure.environments.local import zygote"),
        (others_privates, "rlm/rlm.py", "child._complete(tree)"),
        (others_privates, "rlm/budget.py", "def f(self):\n    with self._ledger._lock: ..."),
        (others_privates, "rlm/rlm.py", "def f(self, other):\n    return other._run or self._run"),
        (others_privates, "environments/repl.py", "def f(self):\n    self._session._check()\n    self._check()"),
        (others_privates, "clients/openai.py", "client._transport"),
        (compat_above_all, "cli/run.py", "from rlm_secure.compat import install"),
        (banned_imports, "guest/session/worker.py", "import pickle"),
        (banned_imports, "rlm/rlm.py", "def f():\n    from marshal import loads"),
        (banned_imports, "rlm/rlm.py", "import multiprocessing.pool"),
        (banned_imports, "rlm/rlm.py", MARK[1]),
        (banned_imports, MARK[0], "from pickle import PickleBuffer, loads"),
        (banned_imports, "rlm/rlm.py", "pickle = __import__('pickle')"),
        (unnamed_tools, "rlm/rlm.py", "import subprocess"),
        (unnamed_tools, "guest/session/repl.py", "from ctypes import CDLL"),
        (unnamed_tools, "guest/session/repl.py", "import _ctypes"),
        (code_from_text, "guest/session/repl.py", "exec('1')"),
        (code_from_text, "rlm/rlm.py", "run = eval"),
        (code_from_text, "rlm/rlm.py", "import builtins\nbuiltins.compile('1', '', 'eval')"),
        (code_from_text, "rlm/rlm.py", "import os\nos.system('true')"),
        (code_from_text, COMPILER, "import os\nos.popen('true')"),
        (code_from_text, "rlm/rlm.py", "run('true', shell=True)"),
        (unbounded_json, "rlm/rlm.py", "import json\njson.loads(text)"),
        (unbounded_json, "guest/supervisor/zygote_link.py", "import json\nread = json.load"),
        (unbounded_json, "compat/core/comms_utils.py", "from json import loads"),
        (unbounded_json, "compat/core/comms_utils.py", "Policy.model_validate_json(line)"),
        (unbounded_json, "compat/core/comms_utils.py", "ADAPTER.validate_json(line)"),
        (host_parsers, "rlm/rlm.py", "import ast"),
        (host_parsers, "environments/repl.py", "from RestrictedPython import compile_restricted"),
    ],
)
def test_a_planted_violation_is_caught(rule, path: str, source: str) -> None:
    assert rule(path, source) != []


@pytest.mark.parametrize(
    ("rule", "path", "source"),
    [
        (upward_imports, "policy/gate.py", "from rlm_secure import errors"),
        (upward_imports, "cli/run.py", "from rlm_secure import RLM, Sandbox"),
        (foreign_guest_imports, "guest/language/facades/json.py", "import json\nfrom .. import wire\nfrom RestrictedPython import x"),
        (upward_guest_imports, "guest/session/worker.py", "from .. import wire\nfrom ..language import guards\nfrom .repl import Repl"),
        (upward_rlm_imports, "rlm/prompts/sets.py", "from .texts import SYSTEM"),
        (upward_rlm_imports, "rlm/completion.py", "from rlm_secure.rlm import handler\nfrom rlm_secure.rlm.budget import Meter"),
        (others_privates, "rlm/rlm.py", "def f(self):\n    self._run()\n    type(self).__name__"),
        (others_privates, "clients/openai.py", "def inherit(self, parent):\n    self._open = parent._open"),
        (compat_above_all, "compat/__init__.py", "from rlm_secure.compat.core import rlm"),
        (banned_imports, "guest/language/guards.py", "NAMES = {'pickle'}\nimport copyreg"),
        (unnamed_tools, "guest/kernel/seal.py", "import ctypes"),
        (code_from_text, COMPILER, "exec(compile('1', '', 'exec'))"),
        (code_from_text, "rlm/rlm.py", "import re\nre.compile('x')"),
        (unbounded_json, "untrusted_json.py", "import json\njson.JSONDecoder()"),
        (unbounded_json, "rlm/rlm.py", "import json\njson.dumps({})\nloads(text)"),
        (host_parsers, "guest/language/compiler.py", "import ast"),
    ],
)  # fmt: skip
def test_what_is_allowed_passes(rule, path: str, source: str) -> None:
    assert rule(path, source) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(MODULES) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("errors.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rlm_secure.policy.gate import Decision"),
        ("rlm/slots.py", "def late():\n    from rlm_secure.rlm.tree import Tree"),
        ("rlm/budget.py", "from rlm_secure import RLM"),
        ("guest/wire.py", "from .session import worker"),
    ],
)  # fmt: skip
def test_a_planted_circle_is_caught(path: str, source: str) -> None:
    assert circle(MODULES | {path: f"{MODULES[path]}\n{source}"}) != []


def test_every_file_that_may_parse_json_does() -> None:
    assert [path for path in TRUSTED_JSON if not unbounded_json(f"another/{path}", MODULES[path])] == []


def test_every_named_file_still_needs_its_tool() -> None:
    stale = [
        f"{path} no longer imports {tool}"
        for tool, files in NAMED_FILES.items()
        for path in files
        if not any(each.module.split(".")[0] == tool for each in imports(path, MODULES.get(path, "")))
    ]
    assert stale == []
