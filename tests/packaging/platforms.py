"""Children of this interpreter that have of the standard library what CPython has on another system, and nothing more.

What a system lacks is read from typeshed, the stubs that mypy brings: a module that is empty there cannot be imported,
and a name that the stub has for Linux alone is deleted. What cannot be simulated: the other system's own modules
(msvcrt), its paths (os.name stays, as pathlib chooses its class by it), its kernel, and the SDKs' wheels for it.
"""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import mypy

from tests import forked

ROOT = Path(__file__).parents[2]
STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"
BECOME = Path(__file__).with_name("become.py")
PLATFORMS = ("win32", "darwin")


def names(stub: Path, platform: str) -> set[str]:
    """Every name that a stub binds at the top for `platform` and this version of Python."""
    found: set[str] = set()

    def holds(test: ast.expr) -> bool:
        match test:
            case ast.BoolOp(op=ast.And()):
                return all(map(holds, test.values))
            case ast.BoolOp():
                return any(map(holds, test.values))
            case ast.UnaryOp(op=ast.Not()):
                return not holds(test.operand)
            case _:
                text = ast.unparse(test).replace("sys.platform", repr(platform))
                return bool(eval(text, {"sys": sys, "TYPE_CHECKING": True}))

    def take(body: list[ast.stmt]) -> None:
        for each in body:
            match each:
                case ast.If():
                    take(each.body if holds(each.test) else each.orelse)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found.add(each.name)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    found.add(name)
                case ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
                case ast.ImportFrom() | ast.Import():
                    found.update(alias.asname or alias.name for alias in each.names)

    take(ast.parse(stub.read_text(encoding="utf-8")).body)
    return {name for name in found if not name.startswith("__")}


@cache
def absent(platform: str) -> dict[str, list[str]]:
    """Module -> the names that `platform` lacks of it and Linux has; "*" for a module that it lacks as a whole."""
    lacking = {}
    for stub in (*STUBS.glob("*.pyi"), *STUBS.glob("*/__init__.pyi")):
        module = stub.parent.name if stub.stem == "__init__" else stub.stem
        if module.startswith("_"):  # what the standard library is made of, which goes on below it
            continue
        here, there = names(stub, "linux"), names(stub, platform)
        if _defined(stub, "linux") and not _defined(stub, platform):
            lacking[module] = ["*"]
        elif here - there:
            lacking[module] = sorted(here - there)
    return {module: gone for module, gone in lacking.items() if _exists(module)}


def _defined(stub: Path, platform: str) -> set[str]:
    """The names of a stub without those that it only imports, unless as themselves."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    imported = {
        alias.name
        for each in tree.body
        if isinstance(each, ast.ImportFrom | ast.Import)
        for alias in each.names
        if alias.asname is None
    }
    return {name for name in names(stub, platform) - imported if not name.startswith("_")}


def _exists(module: str) -> bool:
    try:
        importlib.import_module(module)
    except Exception:
        return False
    return True


@cache
def _server() -> forked.Server:
    """A child that has imported what programs use (become.py)."""
    return forked.Server(BECOME, env=_variables() | {"HOME": "/nonexistent"})


def _variables() -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        **{name: os.environ[name] for name in os.environ if name.startswith(("COVERAGE_", "RLM_SECURE_COV"))},
    }


def run(platform: str, program: str, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `program`, with these arguments, in a Python that has what `platform` has."""
    done = _server().run(
        ["program", *arguments],
        env=_variables() | {"HOME": str(cwd)} | variables,
        cwd=cwd,
        timeout=120,
        platform=platform,
        absent=absent(platform),
        program=program,
    )
    return subprocess.CompletedProcess(program, done.returncode, done.stdout.decode(), done.stderr.decode())
