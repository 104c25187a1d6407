"""Mutation testing, by hand: `python -m tests.mutation rlm_secure/rlm/budget.py [--sample N] [--seconds S]`, or `all`.

Changes one small thing at a time in a module, in a child process, and runs the tests of the file there. A change that no
test notices survives: either a test is missing, or the change means nothing, and then SURVIVORS says why. What tests run
in processes of their own is not changed: only tests that use the module itself count.

`--record` keeps what a run of whole files found in tests/mutation.json, with the digest of the text that it was found
for: `--json`, which tests/evidence reads, says whether that is still the text.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.removal import Scratch

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
_LANGUAGE = tuple(
    f"tests/guest/test_{name}.py"
    for name in ("class_stores", "names", "guards", "hooks", "unbound_methods", "changes", "inlined")
)
#: The tests of each file that is mutated, the quickest first.
TESTS: dict[str, tuple[str, ...]] = {
    "rlm_secure/broker/protocol.py": (
        "tests/broker/test_decoded.py", "tests/broker/test_decoder.py", "tests/broker/test_json_bounds.py",
    ),
    "rlm_secure/untrusted_json.py": ("tests/broker/test_json_bounds.py", "tests/broker/test_decoder.py"),
    "rlm_secure/guest/wire.py": ("tests/broker/test_wire.py", "tests/broker/test_json_bounds.py"),
    "rlm_secure/policy/gate.py": ("tests/policy/test_gate.py",),
    "rlm_secure/rlm/budget.py": ("tests/rlm/test_budget.py",),
    "rlm_secure/scale/leases.py": ("tests/scale/test_leases.py",),
    "rlm_secure/guest/language/guards.py": _LANGUAGE,
    "rlm_secure/guest/language/attributes.py": _LANGUAGE,
}
#: Tests that take long, or run in processes of their own.
_LEFT_OUT = "not linear and not long_to_refuse and not thread and not reader"
_SECONDS = 120  # for the tests against one change; one that hangs is noticed

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
    text: str
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """What names it in a table, wherever its line moves to."""
        return f"{self.text}: {self.before} -> {self.after}"


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
    tree, lines = ast.parse(source), source.splitlines()
    found = []
    for node in ast.walk(tree):
        for part in _silent(node):
            for inner in ast.walk(part):
                inner.silent = True  # type: ignore[attr-defined]
    for node in list(ast.walk(tree)):
        if getattr(node, "silent", False) or not hasattr(node, "lineno"):
            continue
        for other in changes(node):
            replaced = _Replace(node, other).visit(copy.deepcopy(tree, {id(node): node}))
            text = ast.unparse(ast.fix_missing_locations(replaced))
            found.append(Mutant(node.lineno, lines[node.lineno - 1].strip(), _short(node), _short(other), text))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.key))


def _silent(node: ast.AST) -> list[ast.AST]:
    """Parts of a node that only say something: texts of messages, annotations, decorators."""
    if isinstance(node, ast.JoinedStr | ast.arguments):
        return [node]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [*node.decorator_list, *([node.returns] if isinstance(node, ast.FunctionDef) and node.returns else [])]
    return []


def _short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))) if not isinstance(node, ast.Pass) else "nothing"
    return " ".join(text.split())[:100]


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)


def start(mutant: Mutant, name: str, scratch: Path) -> int:
    """Fork a child that runs the tests of the file `name` with the mutant in its place; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 3
    try:
        signal.alarm(_SECONDS)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch)
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        _put_in_place(mutant.source, name)
        options = ["-x", "-q", "-p", "no:anyio", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:timeout", "-k", _LEFT_OUT]
        status = int(pytest.main([*options, "-o", "addopts=--import-mode=importlib", *TESTS[name]]))
    finally:
        os._exit(status)


def _put_in_place(source: str, name: str) -> None:
    """Run `source` as the module of the file `name`: what is imported from now on gets that one, and so does whoever
    has imported something of the old one."""
    dotted = name.removesuffix(".py").replace("/", ".")
    package, _, last = dotted.rpartition(".")
    old = importlib.import_module(dotted)
    module = types.ModuleType(dotted)
    module.__file__ = str(ROOT / name)
    module.__package__ = package
    sys.modules[dotted] = module
    setattr(importlib.import_module(package), last, module)
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    own = {id(value): key for key, value in vars(old).items() if getattr(value, "__module__", None) == dotted}
    for each in [each for each in sys.modules.values() if getattr(each, "__name__", "").startswith(("rlm_secure", "tests"))]:
        for key, value in list(vars(each).items()):
            if value is old:
                setattr(each, key, module)
            elif id(value) in own and each is not old:
                setattr(each, key, getattr(module, own[id(value)]))


def main() -> int:
    """Print the mutants that survive; 0 where each of them is explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Which changes no test notices.")
    parser.add_argument("file", choices=[*sorted(TESTS), "all"], nargs="+")
    parser.add_argument("--sample", type=int, default=0, help="so many of each file's mutants, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no new mutant of a file is tried after so long")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON document, with what is recorded")
    parser.add_argument("--record", action="store_true", help=f"keep what was found in tests/{RECORD.name}")
    options = parser.parse_args()
    for each in ("tests.conftest", *(name.removesuffix(".py").replace("/", ".") for name in TESTS)):
        importlib.import_module(each)  # once, for all children
    found: dict[str, dict[str, Any]] = {}
    with Scratch(prefix="rlm-secure-mutation") as scratch:
        for name in sorted(TESTS) if "all" in options.file else options.file:
            every = mutants(_source(name))
            chosen = random.Random(options.seed).sample(every, min(options.sample or len(every), len(every)))
            found[name] = _try(name, len(every), chosen, options, scratch)
            if not options.json:
                _say(name, found[name])
            if options.record and found[name]["tried"] == len(every):
                _record(name, found[name])
    if options.json:
        print(json.dumps({"files": found, "recorded": recorded(), "survivors": SURVIVORS}, indent=2))
    return int(any(each["unexplained"] for each in found.values()))


def _source(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _try(name: str, every: int, chosen: list[Mutant], options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    unchanged = Mutant(0, "", "", "", _source(name))
    pid = start(unchanged, name, scratch)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, f"the tests of {name} fail without any change"
    until = time.monotonic() + options.seconds
    running: dict[int, Mutant] = {}
    waiting, alive, tried = list(reversed(chosen)), [], 0
    while running or waiting:
        while waiting and len(running) < options.jobs:
            if time.monotonic() > until:
                waiting = []
                break
            mutant = waiting.pop()
            running[start(mutant, name, scratch)] = mutant
            tried += 1
        if running:
            pid, status = os.wait()
            mutant = running.pop(pid)
            alive += [mutant] if status == 0 else []
    unexplained = [mutant for mutant in alive if mutant.key not in SURVIVORS.get(name, {})]
    return {
        "sha256": _digest(name),
        "when": datetime.now(UTC).date().isoformat(),
        "mutants": every,
        "tried": tried,
        "survived": len(alive),
        "unexplained": [
            {"line": each.line, "change": each.key} for each in sorted(unexplained, key=lambda each: each.line)
        ],
    }


def _say(name: str, found: dict[str, Any]) -> None:
    survived = f"{found['survived']} survived, {len(found['unexplained'])} unexplained"
    print(f"{name}: {found['tried']} of {found['mutants']} mutants tried, {survived}")
    for each in found["unexplained"]:
        print(f"  line {each['line']}: {each['change']}")
    sys.stdout.flush()


def _digest(name: str) -> str:
    return hashlib.sha256(_source(name).encode()).hexdigest()


def _record(name: str, found: dict[str, Any]) -> None:
    rows = {each: {key: value for key, value in row.items() if key != "current"} for each, row in recorded().items()}
    RECORD.write_text(json.dumps(dict(sorted((rows | {name: found}).items())), indent=2) + "\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Any]]:
    """What is recorded of files that are still mutated; `current` where it was found for the text that they have."""
    rows = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return {name: {**row, "current": row["sha256"] == _digest(name)} for name, row in rows.items() if name in TESTS}


#: What may survive, by file and change: it means nothing, or what it means is not to be seen from a test.
_OF_LEASES = "nothing in this class: it is LeasedLedger's, and tests/scale/test_leases.py looks at it"
_SHORT_CUT = "a short cut for most frames: what stands below it finds the same"
_SHORT_CUT_SIZE = "a short cut for most texts: what stands below it finds the same"
SURVIVORS: dict[str, dict[str, str]] = {
    "rlm_secure/broker/protocol.py": {
        "return os.urandom(8).hex(): 8 -> 9":
            "a longer one is as good",
        "Findings = Mapping[str, tuple[str, str]]: Findings = Mapping[str, tuple[str, str]] -> nothing":
            "a name for annotations, which are not evaluated",
        "files={} if files == {} else file_sizes(files),: {} if files == {} else file_sizes(files) -> {} "
        "if False else file_sizes(files)":
            _SHORT_CUT_SIZE,
        "if 4 * len(text) <= most:: if 4 * len(text) <= most: return (text, 0) -> if False: return "
        "(text, 0)":
            _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): 4 * "
        "len(text) <= most or (len(text) <= most and len(text.encode()) <= most) -> len(text) <= most "
        "and len(text.encode()) <= most":
            _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): len(text) "
        "<= most and len(text.encode()) <= most -> len(text.encode()) <= most":
            _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most -  -> kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most - 6) or (kind is st":
            _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most -  -> value is None or kind is bool or (kind is int and "
        "value.bit_length() <= 3 * most - 6) or (kind is st":
            _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most -  -> value is None or kind is bool or kind is float or (kind is "
        "int and value.bit_length() <= 3 * most - ":
            _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most -  -> value is None or kind is bool or kind is float or (kind is "
        "str and 6 * len(value) + 2 <= most)":
            _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most -  -> value is None or kind is float or (kind is int and "
        "value.bit_length() <= 3 * most - 6) or (kind is s":
            _SHORT_CUT_SIZE,
        "or (kind is int and value.bit_length() <= 3 * most - 6): value.bit_length() <= 3 * most - 6 -> "
        "value.bit_length() < 3 * most - 6":
            _SHORT_CUT_SIZE,
        "or (kind is int and value.bit_length() <= 3 * most - 6): 6 -> 7":
            _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 2 -> 3":
            _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 6 -> 7":
            _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 6 * len(value) + 2 <= most -> 6 * len(value) + "
        "2 < most":
            _SHORT_CUT_SIZE,
        "if not names:: if not names: return () -> if False: return ()":
            _SHORT_CUT_SIZE,
        "if not 0 <= number <= _LARGEST:: 0 -> 1":
            "a number within the bounds was returned above",
    },
    "rlm_secure/guest/wire.py": {
        "if raw.count(b\"[\") + raw.count(b\"{\") <= MAX_DEPTH and not _has_long_number(raw):: "
        "if raw.count(b'[') + raw.count(b'{') <= MAX_DEPTH and (not _has_long_number(raw)): return -> if False: return": _SHORT_CUT,
        "if raw.count(b\"[\") + raw.count(b\"{\") <= MAX_DEPTH and not _has_long_number(raw):: "
        "raw.count(b'[') + raw.count(b'{') <= MAX_DEPTH -> raw.count(b'[') + raw.count(b'{') < MAX_DEPTH": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS and _TOO_LONG in "
        "raw.translate(_DIGITS_ALIKE) -> _TOO_LONG in raw.translate(_DIGITS_ALIKE)": _SHORT_CUT,
        "if max(accumulate(steps), default=0) > MAX_DEPTH:: 0 -> 1": "bytes without brackets: either is below the bound",
    },
    "rlm_secure/untrusted_json.py": {
        "if b\"\\\\ud\" in raw or b\"\\\\uD\" in raw or isinstance(data, str):: if b'\\\\ud' in raw or b'\\\\uD' in "
        "raw or isinstance(data, str): try: value = encodable(value) except V -> if True: try: value = "
        "encodable(value) except ValueError: raise MalformedJson('it repeats a key') fr":
            "a short cut: a value without half a pair is what it was",
        "except (ValueError, RecursionError, MemoryError) as error:: except (ValueError, RecursionError, "
        "MemoryError) as error: raise MalformedJson(f'not JSON: {type(err -> except (ValueError, "
        "RecursionError) as error: raise MalformedJson(f'not JSON: {type(error).__name__}":
            "the bounds before it leave it neither: for a thread whose stack, or a machine whose memory, is nearly full",
        "except (ValueError, RecursionError, MemoryError) as error:: except (ValueError, RecursionError, "
        "MemoryError) as error: raise MalformedJson(f'not JSON: {type(err -> except (ValueError, "
        "MemoryError) as error: raise MalformedJson(f'not JSON: {type(error).__name__}') ":
            "the bounds before it leave it neither: for a thread whose stack, or a machine whose memory, is nearly full",
        "if short and opened <= depth and opened + raw.count(b\",\") <= nodes:: opened <= depth -> opened < depth": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > "
        "MAX_DIGITS -> len(raw) >= MAX_DIGITS":
            _SHORT_CUT,
        "return max(accumulate(memoryview(bare.translate(_STEPS, _NOT_BRACKETS)).cast(\"b\")), default=0): "
        "0 -> 1":
            "bytes without brackets: either is below the bound",
        "if short and opened <= depth and opened + raw.count(b\",\") <= nodes:: opened + raw.count(b',') <= nodes -> "
        "opened + raw.count(b',') < nodes": _SHORT_CUT,
        "if short and opened <= depth and opened + raw.count(b\",\") <= nodes:: if short and opened <= depth and "
        "(opened + raw.count(b',') <= nodes): return -> if False: return": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS and _TOO_LONG in "
        "raw.translate(_DIGITS_ALIKE) -> _TOO_LONG in raw.translate(_DIGITS_ALIKE)": _SHORT_CUT,
    },
    "rlm_secure/policy/gate.py": {
        "close = difflib.get_close_matches(name[:200], allowed, 1): 1 -> 2": "the first of one or two: the closest",
        "close = difflib.get_close_matches(name[:200], allowed, 1): 200 -> 201":
            "where a long name is cut before it is compared: no allowed one is as long",
        "if len(text) * 4 <= limit:: if len(text) * 4 <= limit: return None -> if False: return None": _SHORT_CUT_SIZE,
        "if len(text) * 4 <= limit:: len(text) * 4 <= limit -> len(text) * 4 < limit": _SHORT_CUT_SIZE,
        "if len(text) * 4 <= limit:: 4 -> 5": _SHORT_CUT_SIZE,
    },
    "rlm_secure/rlm/budget.py": {
        "__slots__ = (\"_ledger\", \"cost_usd\", \"ended\", \"tokens\"): __slots__ = ('_ledger', 'cost_usd', 'ended', "
        "'tokens') -> nothing": "its size in memory alone",
        "self._refund(reservation, input_tokens + output_tokens, cost_usd): self._refund(reservation, input_tokens + "
        "output_tokens, cost_usd) -> nothing": _OF_LEASES,
        "self._refund(reservation, input_tokens + output_tokens, cost_usd): input_tokens + output_tokens -> input_tokens - "
        "output_tokens": _OF_LEASES,
    },
    "rlm_secure/scale/leases.py": {
        "if need.bounded and over:: need.bounded and over -> need.bounded":
            "where nobody holds anything, check_rest() has refused a rest without calls or tokens: only a cost is over",
    },
}


if __name__ == "__main__":
    sys.exit(main())
