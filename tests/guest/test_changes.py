"""A cell's result describes what the cell bound or can have changed; the host keeps what it was told of the others."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any, cast

import pytest

from rlm_secure import Sandbox
from rlm_secure.broker.protocol import MAX_NAMES
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.environments.repl import REPL
from rlm_secure.guest.session import changes, worker
from rlm_secure.guest.session.faults import CellInterrupted
from rlm_secure.guest.session.repl import Repl


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox(context={"a": 1}) as box:
        yield box


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    shared.reset()
    return shared


def told_by(made: Repl, *mentioned: str) -> tuple[set[str], list[str] | None]:
    """The names that a cell with the names `mentioned` describes, and those that are gone."""
    described, _ = made.variables(mentioned)
    return set(described), made.changes.tell(described)


def repl(**names: Any) -> Repl:
    return Repl(dict(names), lambda call: None, tools=(), value_bytes=1000, result_bytes=100_000)


def test_a_result_is_as_long_whatever_is_held() -> None:
    made = repl(**{f"v{number}": [number] * 100 for number in range(200)})
    assert told_by(made) == ({f"v{number}" for number in range(200)}, None)  # the first describes all
    made.namespace["x"] = 1
    assert told_by(made, "x") == ({"x"}, [])
    assert told_by(made) == (set(), [])
    del made.namespace["x"], made.namespace["v7"]
    told, gone = told_by(made)
    assert told == set()
    assert gone is not None and set(gone) == {"x", "v7"}


CHANGED = {
    "by its name": ("rows = [1]", "rows.append(2)", "rows", [1, 2]),
    "by a function": ("rows = [1]\ndef add(): rows.append(2)", "add()", "rows", [1, 2]),
    "by a global statement": ("n = 1\ndef set_n():\n    global n\n    n = 2", "set_n()", "n", 2),
    "by a function of a function": ("rows = [1]\ndef f(): rows.append(2)\ndef g(): f()", "g()", "rows", [1, 2]),
    "by a nested function": ("rows = [1]\ndef f():\n    def g(): rows.append(2)\n    g()", "f()", "rows", [1, 2]),
    "by a closure": ("rows = [1]\ndef add(): rows.append(2)\ndef of(f):\n    return lambda: f()\nh = of(add)", "h()", "rows", [1, 2]),
    "by a method": ("rows = [1]\nclass A:\n    def add(self): rows.append(2)\na = A()", "a.add()", "rows", [1, 2]),
    "by a bound method": ("rows = [1]\nclass A:\n    def add(self): rows.append(2)\nadd = A().add", "add()", "rows", [1, 2]),
    "by a class method": ("rows = [1]\nclass A:\n    @classmethod\n    def add(cls): rows.append(2)", "A.add()", "rows", [1, 2]),
    "by a property": ("rows = [1]\nclass A:\n    @property\n    def add(self): rows.append(2)\na = A()", "a.add", "rows", [1, 2]),
    "by a method of a base": ("rows = [1]\nclass A:\n    def add(self): rows.append(2)\nclass B(A): pass\nb = B()", "b.add()", "rows", [1, 2]),
    "under another name": ("rows = [1]\nother = rows", "other.append(2)", "rows", [1, 2]),
    "bound again": ("rows = [1]", "rows = [1]", "rows", [1]),
    "in a text of names": ("rows = [1]", "globals()['rows'] = 5", "rows", 5),
}  # fmt: skip


@pytest.mark.parametrize("before,cell,name,value", CHANGED.values(), ids=CHANGED)
def test_what_a_cell_changes_is_described_anew(sandbox: Sandbox, before: str, cell: str, name: str, value: Any) -> None:
    sandbox.run("first = 0").check()
    sandbox.run(before).check()
    sandbox.run("unrelated = 1").check()
    result = sandbox.run(cell).check()
    assert result.locals[name] == value
    assert (result.locals["first"], result.locals["unrelated"]) == (0, 1)  # of which the cell says nothing


def test_what_is_reached_in_no_such_way_is_as_it_was_told_until_it_is_named_or_asked_for(sandbox: Sandbox) -> None:
    sandbox.run("data = {'rows': [1]}\nrows = data['rows']").check()
    result = sandbox.run("rows.append(2)").check()
    assert result.locals["rows"] == [1, 2]
    assert result.locals["data"] == {"rows": [1]}
    assert result.values["data"] == {"rows": [1, 2]}  # read from the session now
    assert cast(REPL, sandbox._repl).locals["data"] == {"rows": [1, 2]}
    sandbox.run("rows.append(3)").check()
    assert sandbox.run("data").check().locals["data"] == {"rows": [1, 2, 3]}


def test_variables_that_are_gone_are_in_no_result(sandbox: Sandbox) -> None:
    sandbox.run("a = 1\nb = [2]").check()
    assert set(sandbox.run("c = 3").check().locals) >= {"a", "b", "c"}
    left = sandbox.run("del a").check()
    assert "a" not in left.locals and left.locals["b"] == [2]
    with pytest.raises(KeyError):
        left.values["a"]
    assert sandbox.run("a = 5").check().locals["a"] == 5


def test_a_variable_of_the_host_is_described_by_the_next_cell_that_has_not_bound_it(sandbox: Sandbox) -> None:
    sandbox.run("x = 1").check()
    sandbox.set(given=[1, 2])
    result = sandbox.run("y = 2").check()
    assert result.locals["given"] == [1, 2]
    assert set(result.values) == {"y"}


def test_an_overwritten_context_is_told_as_it_is_again(sandbox: Sandbox) -> None:
    sandbox.run("x = 1").check()
    assert sandbox.run("context = 'mine'").check().error is None
    assert sandbox.run("x = 2").check().locals["context"] == {"a": 1}


def test_a_resumed_session_describes_all(sandbox: Sandbox) -> None:
    sandbox.run("a = [1]\nb = 2").check()
    session = cast(LocalSession, sandbox._repl._session)
    assert session.checkpoint()
    sandbox.run("c = 3").check()
    session._worker.kill()
    result = sandbox.run("a.append(2)").check()
    assert {name: result.locals[name] for name in "abc"} == {"a": [1, 2], "b": 2, "c": 3}
    session._worker.kill()
    result = sandbox.run("d = 4").check()
    assert {name: result.locals[name] for name in "abcd"} == {"a": [1, 2], "b": 2, "c": 3, "d": 4}


def test_a_copy_describes_all_and_neither_hears_of_the_other(sandbox: Sandbox) -> None:
    sandbox.run("a = [1]\nb = 2").check()
    with sandbox.fork() as copy:
        assert copy.run("a.append(2)").check().locals["a"] == [1, 2]
        told = sandbox.run("c = 3").check().locals
        assert (told["a"], told["b"], told["c"]) == ([1], 2, 3)
        told = copy.run("d = 4").check().locals
        assert (told["a"], told["b"], told["d"]) == ([1, 2], 2, 4) and "c" not in told


def test_variables_beyond_those_that_the_host_keeps_are_told_when_there_is_room(sandbox: Sandbox) -> None:
    result = sandbox.run("\n".join(f"v{number} = {number}" for number in range(MAX_NAMES + 40))).check()
    assert len(result.locals) == MAX_NAMES
    assert len(sandbox.run("w = 1").check().locals) == MAX_NAMES
    held = sandbox.run("for number in range(60):\n    del globals()[f'v{number}']").check().locals
    held = sandbox.run("z = 1").check().locals
    assert held["w"] == held["z"] == 1
    assert {f"v{number}" for number in range(60, MAX_NAMES + 40)} <= set(held)
    assert changes.MAX_NAMES == MAX_NAMES


def test_more_code_than_is_looked_through_counts_as_changing_everything(sandbox: Sandbox) -> None:
    many = "\n".join(f"def f{number}(): f{number + 1}()" for number in range(1200))
    sandbox.run("rows = [1]\nhidden = [rows]").check()
    sandbox.run(f"{many}\ndef f1200(): hidden[0].append(2)").check()
    sandbox.run("import sys\nsys.setrecursionlimit(3000)")
    sandbox.run("f0()")
    assert sandbox.run("pass").locals["rows"] == [1, 2]


def test_no_code_of_a_cell_runs_while_changes_are_looked_for(sandbox: Sandbox) -> None:
    sandbox.run(
        "seen = []\n"
        "class M:\n"
        "    def __eq__(self, other): seen.append('eq'); return True\n"
        "    def __hash__(self): seen.append('hash'); return 1\n"
        "    def __getattr__(self, name): seen.append(name); raise AttributeError(name)\n"
        "    def __iter__(self): seen.append('iter'); return iter(())\n"
        "m = M()\nclass K:\n    held = m\nk = K()\n"
    ).check()
    sandbox.run("m\nk\nK\nM").check()
    assert sandbox.run("print(seen)").stdout == "[]\n"


BINDS = {
    "by the cell": ("n = 'x'\ndel globals()[n]\nglobals()[n] = [2]", [2]),
    "by a function": ("def f(n):\n    del globals()[n]\n    globals()[n] = [2]\nf('x')", [2]),
    "by a function of an earlier cell": ("replace('x')", [3]),
}


@pytest.mark.attack("language")
@pytest.mark.parametrize("cell, value", BINDS.values(), ids=BINDS)
def test_what_is_bound_by_globals_at_an_old_address_is_described(sandbox: Sandbox, cell: str, value: Any) -> None:
    sandbox.run("x = [1]\ndef replace(n):\n    del globals()[n]\n    globals()[n] = [3]").check()
    for _ in range(3):  # a new object often has the address of the one that was released last
        assert sandbox.run(cell).check().locals["x"] == value
        sandbox.run("x = [1]").check()


#: A `finally` that a collection runs, and that leaves another one for the next collection.
RESTLESS = """
def plant():
    global count
    def late():
        global count
        try:
            yield
        finally:
            count += 1
            {change}
            if count < 200:
                plant()
    waiting = late()
    next(waiting)
    cycle = [waiting]
    cycle.append(cycle)
count = 0
for n in range(3_000):
    {grow}
"""
RESTLESS_CELLS = {
    "variables": RESTLESS.format(change="globals()[f'late{count}'] = 1", grow="globals()[f'w{n}'] = [n]"),
    "a value": "held = {}" + RESTLESS.format(change="held[f'late{count}'] = 1", grow="held[n] = [n]"),
}


@pytest.mark.attack("language")
@pytest.mark.parametrize("before", RESTLESS_CELLS.values(), ids=RESTLESS_CELLS)
def test_a_cell_that_disturbs_its_description_leaves_no_false_one(sandbox: Sandbox, before: str) -> None:
    """What iterates over variables or values fails where a finalizer adds to them."""
    sandbox.run("x = 1").check()
    told = sandbox.run(f"{before}\nx = [2]\nplant()").check().locals
    assert told.get("x", [2]) == [2]
    assert sandbox.run("count = 200").check().locals.get("x", [2]) == [2]
    assert sandbox.run("x").check().locals["x"] == [2]


CLEANS_UP = "{}try:\n        yield\n    finally:\n        {}\n"
#: Cells whose code also runs behind their last line: what they do there to `x`, which a cell before bound to [1].
LATE = {
    "the text of the last value": "class R:\n    def __repr__(self):\n        x.append(2)\n        return 'r'\nx\nR()",
    "the end of the last value": f"def g():\n    {CLEANS_UP.format('', 'x.append(2)')}def made():\n    it = g()\n    next(it)\n    return it\nx\nmade()",
    "the end of what a name of the session had": f"def g():\n    {CLEANS_UP.format('', 'x.append(2)')}llm_query = g()\nnext(llm_query)\nx",
    "a new object": f"def g():\n    {CLEANS_UP.format('global x' + chr(10) + '    ', 'x = [1, 2]')}llm_query = g()\nnext(llm_query)\npass",
}


@pytest.mark.attack("language")
@pytest.mark.parametrize("cell", LATE.values(), ids=LATE)
def test_what_runs_behind_the_last_line_is_described(sandbox: Sandbox, cell: str) -> None:
    sandbox.run("x = [1]").check()
    told = sandbox.run(cell).check()
    assert told.locals["x"] == [1, 2]
    assert told.values["x"] == [1, 2]
    assert sandbox.run("print(x)").stdout == "[1, 2]\n"


@pytest.mark.parametrize(("disturbed", "told"), [({2}, 2), ({2, 3}, None)])
def test_a_description_that_is_interrupted_is_made_again_or_with_the_next_result(disturbed: set[int], told: int | None) -> None:
    """The first one is older than what the release of a name's value did."""
    made = worker.SessionWorker()
    made._repl = repl(x=1)
    names, describe, calls = made._repl.namespace, made._describe, itertools.count(1)

    class Late:
        def __del__(self) -> None:
            names["x"] = 2

    def disturbing(*given: Any, **named: Any) -> None:
        if next(calls) in disturbed:
            raise CellInterrupted
        describe(*given, **named)

    try:
        made._run(lambda: None, answer=True)
        made._describe = disturbing  # type: ignore[method-assign]
        result = made._run(lambda: names.update(llm_query=Late()), answer=True)
        later = made._run(lambda: None, answer=True)["variables"]
    finally:
        gc.enable()  # a worker collects in code of cells only
    assert result["variables"].get("x", {}).get("value") == told
    assert later == ({} if told == 2 else {"x": {"type": "int", "value": 2}})


FORGES = """
class Box: pass
def arm():
    box = Box()
    def late():
        global llm_query
        hold = box
        try:
            yield
        finally:
            llm_query = lambda prompt: 'forged'
    box.it = late()
    next(box.it)
pad = [[i] for i in range({})]
arm()
"""


@pytest.mark.attack("language")
@pytest.mark.parametrize("size", range(2_500, 3_500, 100))
def test_no_collection_gives_a_name_another_meaning_once_it_is_restored(sandbox: Sandbox, size: int) -> None:
    """One that begins while variables are described closes the generator before, or not at all."""
    sandbox.run(FORGES.format(size)).check()
    assert "forged" not in sandbox.run("print(llm_query('q'))").stdout


@pytest.mark.attack("language")
def test_a_result_without_room_for_its_variables_leaves_no_false_one(sandbox: Sandbox) -> None:
    sandbox.run("x = 1").check()
    large = "del x\nanswer['content'], answer['ready'] = '\\x00' * 20_000_000, True"
    assert "x" not in sandbox.run(large).locals
    assert "x" not in sandbox.run("pass").locals  # it has the answer again
    assert sandbox.run("y = 1\nanswer['ready'] = False").check().locals["y"] == 1


def test_a_cell_that_is_sent_again_is_run_again(sandbox: Sandbox) -> None:
    sandbox.run("n = 0").check()
    assert [sandbox.run("n += 1\nn").check().value for _ in range(40)] == list(range(1, 41))
    for number in range(40):  # more than are kept
        assert sandbox.run(f"n = {number}\nn").check().value == number
    refused = [str(sandbox.run("open('x')\n__import__('os')").error) for _ in range(2)]
    assert refused[0] == refused[1] != "None"
