"""Mutation testing, by hand: `python -m tests.mutation rlm_secure/budget.py [--sample N] [--seconds S]`.

Changes one small thing at a time in a copy of the project, and runs the tests of the file against it. A change that no
test notices survives: either a test is missing, or the change means nothing, and then SURVIVORS says why.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.removal import Scratch

ROOT = Path(__file__).parents[1]
#: The tests of each file that is mutated, the quickest first.
TESTS: dict[str, tuple[str, ...]] = {
    "rlm_secure/broker/protocol.py": ("tests/broker/test_decoder.py", "tests/broker/test_json_bounds.py"),
    "rlm_secure/untrusted_json.py": ("tests/broker/test_json_bounds.py", "tests/broker/test_decoder.py"),
    "rlm_secure/guest/wire.py": ("tests/broker/test_wire.py", "tests/broker/test_json_bounds.py"),
    "rlm_secure/policy/gate.py": ("tests/policy/test_gate.py",),
    "rlm_secure/budget.py": ("tests/test_budget.py",),
}
_COPIED = ("rlm_secure", "tests", "policies", "sandboxes", "pyproject.toml", "threat-model.md", "README.md")
_SECONDS = 90.0  # for the tests against one change; one that hangs is noticed

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: where, what it was and is, and the whole source with it."""

    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """What names it in a table, wherever its line moves to."""
        return f"{self.before} -> {self.after}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Every small change of a node."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = _COMPARED[type(operator)]()
            yield other
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        for index in range(len(node.values)):
            rest = [value for at, value in enumerate(node.values) if at != index]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATED:
        yield ast.BinOp(node.left, _OPERATED[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        for value in (True, False):
            if not (isinstance(node, ast.While) and value):
                other = copy.copy(node)
                other.test = ast.Constant(value)
                yield other
    elif isinstance(node, ast.Raise | ast.Expr | ast.Assign | ast.AugAssign | ast.Delete | ast.Continue | ast.Break):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring
            yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
        for index in range(len(node.type.elts)):
            other = copy.copy(node)
            other.type = ast.Tuple([each for at, each in enumerate(node.type.elts) if at != index], ast.Load())
            yield other


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines. What is only a message, or a type, is left alone."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if _silent(node):
            for inner in ast.walk(node):
                inner.silent = True  # type: ignore[attr-defined]
    for node in list(ast.walk(tree)):
        if getattr(node, "silent", False) or not hasattr(node, "lineno"):
            continue
        for other in changes(node):
            replaced = _Replace(node, other).visit(copy.deepcopy(tree, {id(node): node}))
            text = ast.unparse(ast.fix_missing_locations(replaced))
            found.append(Mutant(node.lineno, _short(node), _short(other), text))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.key))


def _silent(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.arguments | ast.Import | ast.ImportFrom) and not (
        isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant | ast.BinOp)
    )


def _short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))) if not isinstance(node, ast.Pass) else "nothing"
    return " ".join(text.split())[:100]


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)


def survives(mutant: Mutant, name: str, copied: Path) -> bool:
    """Whether no test of the file `name` notices the mutant, in the project copied to `copied`."""
    target = copied / name
    target.write_text(mutant.source, encoding="utf-8")
    options = ["-x", "-q", "-p", "no:anyio", "-p", "no:cacheprovider", "-p", "no:schemathesis", "--no-header"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *TESTS[name]]
    try:
        done = subprocess.run(
            command, cwd=copied, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SECONDS,
            env=os.environ | {"PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    """Print the mutants that survive; 0 where each of them is explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Which changes no test notices.")
    parser.add_argument("file", choices=sorted(TESTS), nargs="+")
    parser.add_argument("--sample", type=int, default=0, help="so many of each file's mutants, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no new mutant is tried after so long")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    failed = False
    for name in options.file:
        source = (ROOT / name).read_text(encoding="utf-8")
        every = mutants(source)
        chosen = random.Random(options.seed).sample(every, options.sample) if 0 < options.sample < len(every) else every
        failed |= _try(name, chosen, options)
    return int(failed)


def _try(name: str, chosen: list[Mutant], options: argparse.Namespace) -> bool:
    until = time.monotonic() + options.seconds
    with Scratch(prefix="rlm-secure-mutation") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        copies = [scratch / str(number) for number in range(options.jobs)]
        for each in copies:
            for part in _COPIED:
                source, target = ROOT / part, each / part
                if source.is_dir():
                    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    target.write_bytes(source.read_bytes())
        free = list(copies)

        def one(mutant: Mutant) -> bool | None:
            if time.monotonic() > until:
                return None
            copied = free.pop()
            try:
                return survives(mutant, name, copied)
            finally:
                free.append(copied)

        unchanged = Mutant(0, "", "", (ROOT / name).read_text(encoding="utf-8"))
        assert survives(unchanged, name, copies[0]), f"the tests of {name} fail without any change"
        outcomes = list(pool.map(one, chosen))
    alive = [mutant for mutant, outcome in zip(chosen, outcomes, strict=True) if outcome]
    unexplained = [mutant for mutant in alive if mutant.key not in SURVIVORS.get(name, {})]
    tried = sum(outcome is not None for outcome in outcomes)
    print(f"{name}: {tried} of {len(chosen)} mutants tried, {len(alive)} survived, {len(unexplained)} unexplained")
    for mutant in unexplained:
        print(f"  line {mutant.line}: {mutant.key}")
    sys.stdout.flush()
    return bool(unexplained)


#: What may survive, by file and change: it means nothing, or what it means is not to be seen from a test.
SURVIVORS: dict[str, dict[str, str]] = {}


if __name__ == "__main__":
    sys.exit(main())
