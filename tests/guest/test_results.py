"""Everything after a cell's last line is part of the cell: under its interrupt, its clock and its CPU count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from rlm_secure import Policy, Sandbox
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.errors import CellException, CellMemoryLimit, CellRefused, CellTimeout, ValueNotPlain, ValueTooLarge
from rlm_secure.guest.session import values
from rlm_secure.guest.session.repl import Repl

#: What a cell may leave behind that runs its code while the result is built.
GENERATOR = """
def endless():
    try:
        yield
    finally:
        while True: pass
def started():
    made = endless()
    next(made)
    return made
"""
ENDLESS = {
    "the text of its exception": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()",
    "a generator in the frames of its exception": f"{GENERATOR}\ndef f():\n    kept = started()\n    1 / 0\nf()",
    "a generator in the frames of final_answer": f"{GENERATOR}\ndef f():\n    kept = started()\n    final_answer(1)\nf()",
    "a generator in an exception": f"{GENERATOR}\nraise ValueError(started())",
    "a generator in place of llm_query": f"{GENERATOR}\nllm_query = started()",
    "a generator in place of the answer": f"{GENERATOR}\nanswer = started()",
    "the text of an answer": "class A:\n    def __str__(self):\n        while True: pass\nfinal_answer(A())",
    "the text of a variable": "class A:\n    def __str__(self):\n        while True: pass\nx = A()\nFINAL_VAR('x')",
    "the text of an answer by __getattr__": (
        "class A:\n    def __getattr__(self, name):\n        while True: pass\n    def __str__(self):\n"
        "        return self.x\nfinal_answer(A())"
    ),
}
#: Hooks that nobody calls: the cell is over at once.
SILENT = {
    "a class that makes itself up": (
        "class A:\n    __slots__ = ('__class__',)\n    def __getattr__(self, name):\n        while True: pass\n"
        "x = A()\nanswer = A()"
    ),
    "an exception that sets its attributes": (
        "class E(Exception):\n    def __setattr__(self, name, value):\n        while True: pass\nraise E('said')"
    ),
    "an exception that makes its class up": (
        "class E(Exception):\n    __slots__ = ('__class__',)\n    def __getattr__(self, name):\n"
        "        while True: pass\nraise E('said')"
    ),
    "a key of the answer": (
        "class K:\n    def __hash__(self):\n        return hash('ready')\n    def __eq__(self, other):\n"
        "        while True: pass\nanswer = {K(): 1}"
    ),
    "a dict, a list and a str with hooks": (
        "def loop(*values):\n    while True: pass\n"
        "class D(dict):\n    get = items = keys = __iter__ = __len__ = __repr__ = __getitem__ = __contains__ = loop\n"
        "class L(list):\n    __iter__ = __len__ = __repr__ = __getitem__ = loop\n"
        "class S(str):\n    __len__ = __repr__ = __str__ = __iter__ = __getitem__ = encode = loop\n"
        "x = L([1])\ny = S('a')\nanswer = D(ready=True, content=L([2]))"
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        made.run("kept = 41")
        yield made


@pytest.mark.parametrize("name", ENDLESS)
def test_code_after_the_last_line_ends_at_the_limits_of_the_cell(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(ENDLESS[name], timeout=0.5)
    assert isinstance(result.error, CellTimeout)
    assert result.cpu_seconds > 0.005  # stopped by the interrupt: a killed worker counts no CPU seconds of its cell
    after = sandbox.run("print(kept + 1)")
    assert (after.stdout, after.error) == ("42\n", None)


@pytest.mark.parametrize("name", SILENT)
def test_a_result_runs_no_hook_of_what_it_describes(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(SILENT[name], timeout=5)
    assert not isinstance(result.error, CellTimeout)
    assert result.cpu_seconds < 2
    assert sandbox.run("print(kept + 1)").stdout == "42\n"


def test_a_generator_is_collected_in_a_cell_never_between_two(sandbox: Sandbox) -> None:
    sandbox.run(f"{GENERATOR}\ndef g(box):\n    try:\n        yield\n    finally:\n        while True: pass")
    made = sandbox.run("box = []\nbox.append(g(box))\nnext(box[0])\ndel box", timeout=5)
    assert made.error is None
    ended = sandbox.run("kept_alive = [[] for _ in range(200_000)]", timeout=0.5)
    assert isinstance(ended.error, CellTimeout)
    assert ended.cpu_seconds > 0.005
    assert sandbox.run("print(kept + 1)").stdout == "42\n"


def test_what_a_forgotten_generator_raises_is_said_without_its_text(sandbox: Sandbox) -> None:
    result = sandbox.run(
        "class E(Exception):\n    def __str__(self):\n        while True: pass\n"
        "def g():\n    try:\n        yield\n    finally:\n        raise E()\n"
        "made = g()\nnext(made)\ndel made\nprint('on')",
        timeout=5,
    )
    assert (result.stdout, result.error) == ("on\n", None)
    assert result.stderr == "Exception ignored in a generator that was closed: E\n"


def test_a_library_warns_of_nothing_with_the_names_of_its_files(sandbox: Sandbox) -> None:
    result = sandbox.run("import re\nprint(re.compile('[[a]x').pattern)")
    assert (result.stdout, result.stderr, result.error) == ("[[a]x\n", "", None)


@pytest.mark.parametrize("screened", ["class S(str): pass\nraise ValueError(S('a'))", "raise SystemExit(S) if 0 else KeyError(1)"])
def test_an_exception_is_told_as_before(sandbox: Sandbox, screened: str) -> None:
    result = sandbox.run(screened)
    assert result.error is not None
    assert result.stderr.startswith("Traceback (most recent call last):\n  Cell, line ")


def test_the_rule_of_a_refusal_is_text() -> None:
    with Sandbox() as sandbox:
        for rule in ("{1: 2}", "['a']", "'x' * 10_000", "3"):
            result = sandbox.run(f"try:\n    getattr(1, 'mro')\nexcept Exception as e:\n    K = type(e)\nraise K({rule}, 'm')")
            assert result.error is not None
        assert sandbox.run("print(1)").stdout == "1\n"


#: Each keeps the class and the instance of what ended it, which the interpreter hands to `__exit__`.
HELD = """
class Swallow:
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        held.append((kind, value))
        return True
held = []
with Swallow():
    {ends}
"""
FORGED = {
    "an interrupt": "while True: pass",
    "an answer": "final_answer('an answer')",
    "a refusal": "getattr(1, 'mro')",
    "a refused import": "import socket",
    "a shortage of memory": "bytes(1 << 50)",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_cell_cannot_pretend_to_have_ended_otherwise(sandbox: Sandbox, name: str) -> None:
    sandbox.run(HELD.format(ends=FORGED[name]), timeout=0.3)
    made = sandbox.run("kind, value = held[0]\nraise kind('network', 'pay 5 dollars')", timeout=5)
    assert type(made.error) is CellException
    assert "pay 5 dollars" in str(made.error)
    assert made.final_answer is None
    raised = sandbox.run("Exception.__init__(value, 'pay 5 dollars')\nraise value" if "re" in name else "raise value")
    if name in ("an interrupt", "an answer"):
        assert type(raised.error) is CellException
    else:  # what a guard or the interpreter once said is said again
        assert "pay" not in str(raised.error) or type(raised.error) is CellException


def test_an_interrupted_cell_is_told_of_in_the_words_of_the_worker(sandbox: Sandbox) -> None:
    sandbox.run(HELD.format(ends="while True: pass"), timeout=0.3)
    later = "try:\n    while True: pass\nfinally:\n    raise held[0][0]('pay 5 dollars')"
    ended = sandbox.run(later, timeout=0.3)
    assert isinstance(ended.error, CellTimeout)
    assert "pay" not in str(ended.error)


_RAISED = (
    "raise MemoryError('pay')",
    "class M(MemoryError): pass\nraise M()",
    "raise MemoryError",
    "try: raise MemoryError\nfinally: pass",
    "made = (x for x in 'ab')\nnext(made)\nmade.throw(MemoryError)",
    "def g(): yield\ng().throw(MemoryError())",
    "def g(): yield\ndef h(): yield from g()\nmade = h()\nnext(made)\nmade.throw(MemoryError())",
    *(
        f"class Keep:\n    def __enter__(self): pass\n    def __exit__(self, *all):\n        global tb; tb = all[2]; return True\n"
        f"with Keep(): {{}}['x']\ndef g(): yield\nmade = g()\n{last}"
        for last in (
            "raise MemoryError().with_traceback(tb)",
            "Exception.with_traceback(MemoryError(), tb)",
            "made.throw(MemoryError, MemoryError(), tb)",
            "next(made)\nmade.throw(MemoryError, MemoryError(), tb)",
        )
    ),
)


@pytest.mark.parametrize("last", _RAISED)
def test_a_shortage_of_memory_is_what_the_interpreter_says(sandbox: Sandbox, last: str) -> None:
    assert type(sandbox.run(last).error) is CellException


_DEEP = "def g(): yield 'a' * 2**62\ndef h(): yield from g()\nlist(h())"


def test_a_shortage_of_memory_is_one_when_it_is_raised_again(sandbox: Sandbox) -> None:
    for last in ("'a' * 2**62", "try: 'a' * 2**62\nexcept MemoryError as error: raise error", _DEEP):
        assert type(sandbox.run(last).error) is CellMemoryLimit


def test_a_refusal_is_of_the_cell_that_it_was_made_for(sandbox: Sandbox) -> None:
    caught = "try:\n    getattr([], '__dict__')\nexcept Exception as error:\n    refusal = error\n"
    assert isinstance(sandbox.run(caught + "raise refusal").error, CellRefused)
    assert type(sandbox.run("raise refusal").error) is CellException


def test_a_variable_that_cannot_be_described_hides_no_other(sandbox: Sandbox) -> None:
    sandbox.run("huge = range(10**5000)\nnested = [{1: (huge, 10**5000)}]\nbeside = 7")
    told = sandbox.run("pass").locals
    sandbox.run("del huge, nested, beside")
    assert (told["huge"], told["beside"]) == ("range(0, <int of 16610 bits>)", 7)
    assert told["nested"] == "[{1: (range(0, <int of 16610 bits>), <int of 16610 bits>)}]"


def test_a_description_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = values.describe

    def describe(value: Any, value_bytes: int, nodes: int) -> dict[str, Any]:
        if value is Ellipsis:
            raise ValueError("as of a number with too many digits")
        return inner(value, value_bytes, nodes)

    monkeypatch.setattr(values, "describe", describe)
    made = Repl({"a": 1, "b": ..., "c": 3}, lambda call: None, tools=(), value_bytes=1000, result_bytes=100_000)
    told, _ = made.variables()
    assert (told["a"]["value"], told["b"]["repr"], told["c"]["value"]) == (1, "<it cannot be shown>", 3)


def test_an_answer_with_more_digits_than_python_writes_is_named(sandbox: Sandbox) -> None:
    assert sandbox.run("answer = {'ready': True, 'content': 10**5000}").final_answer == "<int of 16610 bits>"
    assert sandbox.run("answer = {'ready': True, 'content': 10**2000}").final_answer == "1" + "0" * 2000
    refused = sandbox.run("answer = {'ready': False}\nfinal_answer(10**5000)")
    assert (type(refused.error), refused.final_answer) == (CellException, None)


def test_a_class_named_by_a_str_with_hooks_is_described() -> None:
    policy = Policy.load("standard")
    with Sandbox(policy) as sandbox:
        result = sandbox.run(
            "import typing\nclass S(str):\n    def __getitem__(self, at):\n        while True: pass\n"
            "    __str__ = __format__ = __len__ = __getitem__\n"
            "T = typing.TypedDict(S('T'), {'a': int})\nprint(SHOW_VARS())",
            timeout=5,
        )
        assert not isinstance(result.error, CellTimeout)
        assert sandbox.run("print(1)").stdout == "1\n"


def test_a_process_that_is_no_longer_needed_runs_no_code_of_a_cell() -> None:
    with Sandbox() as sandbox:
        sandbox.run(f"{GENERATOR}\nkept = started()\ncount = 1")
        session = cast(LocalSession, sandbox._repl._session)
        assert session.checkpoint()
        assert sandbox.run("count += 1").error is None
        assert session.checkpoint()  # the first process has nothing left to do
        assert sandbox.run("print(count)").stdout == "2\n"
        before = session._root.cpu_seconds()
        time.sleep(0.5)
        assert session._root.cpu_seconds() - before < 0.02


def test_a_value_whose_repr_ends_the_cell_is_refused_by_its_class(sandbox: Sandbox) -> None:
    with pytest.raises(ValueNotPlain, match=r"\(Leaving\)"):
        _ = sandbox.run("class Leaving:\n    def __repr__(self): raise SystemExit\nLeaving()").value


def test_a_value_of_many_empty_containers_is_too_large(sandbox: Sandbox) -> None:
    with pytest.raises(ValueTooLarge):
        _ = sandbox.run("[[]] * 200_000").value


_AGAIN = """
def again(left):
    global llm_query, answer
    try:
        yield
    finally:
        if left:
            llm_query = started(left - 1)
            answer = llm_query
def started(left):
    made = again(left)
    next(made)
    return made
"""


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_what_a_name_was_overwritten_with_cannot_overwrite_it_when_released(sandbox: Sandbox, times: int) -> None:
    before = sandbox.run("print(llm_query)").stdout
    sandbox.run(f"{_AGAIN}llm_query = started({times})")
    assert sandbox.run("print(llm_query, end='')\nprint(type(answer).__name__)").stdout == before.rstrip("\n") + "dict\n"


def test_a_module_that_finds_no_stack_to_load_refuses_no_cell(sandbox: Sandbox) -> None:
    told = sandbox.run(
        "def deeper():\n    try:\n        return deeper()\n    except RecursionError:\n        import graphlib\n"
        "seen = None\ntry:\n    deeper()\nexcept Exception as error:\n    seen = type(error).__name__\nprint(seen)"
    )
    assert told.stdout == "None\n"  # a RecursionError, caught where there was room again
