"""What upstream's package has: the parameters of its RLM and of its environments, and the public names of its modules.

`read` takes them from its source, which is neither imported nor run. upstream.json keeps them, so that the page can be
written without the package; test_names.py compares it with the package.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlm_secure import RLM
from rlm_secure.environments.foreign_options import own_options
from tests.compat.differences import HERE, VERSION

DOCUMENT = HERE.parents[1] / "docs/pages/migration/names.md"
KEPT = HERE / "upstream.json"
#: Upstream's class of each environment, by its module and the environment's name.
ENVIRONMENTS = {
    "local": "rlm.environments.local_repl:LocalREPL",
    "docker": "rlm.environments.docker_repl:DockerREPL",
    "modal": "rlm.environments.modal_repl:ModalREPL",
    "daytona": "rlm.environments.daytona_repl:DaytonaREPL",
    "prime": "rlm.environments.prime_repl:PrimeREPL",
    "e2b": "rlm.environments.e2b_repl:E2BREPL",
}
_HEAD = """# Every name of rlms, and what it is here

What `rlms` {version} has, taken from its source, beside what rlm_secure makes of it. [Coming from rlms](rlms.md) shows a
program before and after; [what differs](differences.md) has the reasons.

<!-- Written by `python -m tests.compat --write` from tests/compat/upstream.json and names.toml. -->
"""


def read(package: Path) -> dict[str, Any]:
    """What upstream has, from the folder that its package `rlm` is installed in."""
    modules = {_module(path, package): ast.parse(path.read_text(encoding="utf-8")) for path in package.glob("rlm/**/*.py")}
    classes = {
        f"{name}:{each.name}": each for name, tree in modules.items() for each in tree.body if isinstance(each, ast.ClassDef)
    }
    return {
        "RLM": _parameters(classes["rlm.core.rlm:RLM"]),
        "environments": {name: [each for each, _ in _parameters(classes[path])] for name, path in ENVIRONMENTS.items()},
        "modules": {name: found for name, tree in sorted(modules.items()) if (found := list(dict.fromkeys(_public(tree))))},
    }


def kept() -> dict[str, Any]:
    """The same, as it was when it was last taken from the package."""
    loaded: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return loaded


def said() -> dict[str, dict[str, str]]:
    """What names.toml says."""
    return tomllib.loads((HERE / "names.toml").read_text(encoding="utf-8"))


def served(module: str) -> Any:
    """Our module of upstream's name, or None."""
    try:
        return importlib.import_module(f"rlm_secure.compat{module.removeprefix('rlm')}")
    except ModuleNotFoundError:
        return None


def page() -> str:
    """The page for users."""
    has, notes = kept(), said()
    return "\n".join(
        [
            _HEAD.format(version=VERSION),
            "## The parameters of `RLM`\n",
            "In upstream's order, so that arguments by position keep their meaning.\n",
            "| parameter | default | here |",
            "| --- | --- | --- |",
            *(f"| `{name}` | `{default}` | {notes['parameters'][name]} |" for name, default in has["RLM"]),
            "\nOnly here, and only by name: " + ", ".join(f"`{each}`" for each in _ours(has)) + ".\n",
            "## The options of environments\n",
            "What `environment_kwargs` has. Upstream's name is taken; ours is in the third column.\n",
            "| environment | upstream's name | here |",
            "| --- | --- | --- |",
            *(f"| `{place}` | `{name}` | {here} |" for place, name, here in options(has)),
            "\n## Modules and names\n",
            "After `rlm_secure.compat.install()`, or under `rlm_secure.compat` instead of `rlm`.\n",
            "| module | served | not served, and why |",
            "| --- | --- | --- |",
            *(_row(module, names, notes["not_served"]) for module, names in has["modules"].items()),
            "",
        ]
    )


def options(has: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Upstream's own options of each environment, and what becomes of each here."""
    shared = set(has["environments"]["local"])
    for place, names in has["environments"].items():
        for name in names:
            if name in shared:
                continue
            try:
                (ours,) = own_options(place, {name: example(name)})
            except TypeError as refused:
                yield place, name, f"refused: {str(refused).partition(': ')[2]}"
            else:
                yield place, name, "the same" if ours == name else f"`{ours}`"


def example(name: str) -> Any:
    """A value that an option of this name can have."""
    if "image" in name:
        return f"python@sha256:{'0' * 64}"
    return {"timeout": 300, "timeout_minutes": 5}.get(name, 1)


def not_served(module: str, names: list[str]) -> list[str]:
    """The names that our module does not have."""
    ours = served(module)
    return [name for name in names if not hasattr(ours, name)]


def _ours(has: dict[str, Any]) -> list[str]:
    theirs = {name for name, _ in has["RLM"]}
    return [name for name in inspect.signature(RLM).parameters if name not in theirs]


def _row(module: str, names: list[str], reasons: dict[str, str]) -> str:
    missing = not_served(module, names)
    here = ", ".join(f"`{name}`" for name in names if name not in missing)
    why = f"{', '.join(f'`{name}`' for name in missing)}: {reasons[module]}" if missing else ""
    return f"| `{module}` | {here} | {why} |"


def _module(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")


def _parameters(of: ast.ClassDef) -> list[tuple[str, str]]:
    """The parameters of a constructor but `self`, each with its default as it is written."""
    (made,) = [each for each in of.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    names = [each.arg for each in made.args.args][1:]
    defaults = [ast.unparse(each) for each in made.args.defaults]
    return list(zip(names, ["required"] * (len(names) - len(defaults)) + defaults, strict=True))


def _public(tree: ast.Module) -> Iterator[str]:
    for each in tree.body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = [each.name]
        elif isinstance(each, ast.Assign):
            found = [target.id for target in each.targets if isinstance(target, ast.Name)]
            if found == ["__all__"]:
                found = list(ast.literal_eval(each.value))
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found = [each.target.id]
        else:
            continue
        yield from (name for name in found if not name.startswith("_"))
