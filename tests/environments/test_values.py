"""What a user gets out of a session is whole and typed: a value, or an error that names its size."""

from __future__ import annotations

import datetime
import json
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from rlm_secure import Policy, Sandbox
from rlm_secure.broker.protocol import Variable
from rlm_secure.environments.interface import Session
from rlm_secure.errors import (
    CellException,
    CellRefused,
    CellTimeout,
    EnvironmentUnavailable,
    Refused,
    ValueNotPlain,
    ValueTooLarge,
    ValueUnavailable,
)

LIMIT = Policy.load("strict").limits.value_bytes
RULES = {"result": "result", "table": ["df"], "imports": False, "forbidden_calls": [], "mode": "read", "filter": False}
#: Of `given`, in every environment.
DIGEST = "97f7e0ee9e83d2e95b5ab2bdaad5ff55ca51b180dba5b5e71e10146e684a165b"


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def values_files_and_output(sandbox: Sandbox) -> None:
    """Everything that goes in and out of a session beside its context: the same in every environment."""
    told: list[str] = []
    large = bytes(range(256)) * 8_000
    sandbox.set(given=(1, {2}), long="x" * 200_000)
    sandbox.files["in.bin"] = large
    result = sandbox.run(
        "print('first')\nfiles['out/copy'] = files['in.bin']\nfiles['small'] = b's'\nkept = [given, {3: b'\\x00'}]\n"
        "print('second')\n(len(long), given)",
        on_stdout=told.append,
    ).check()
    assert (result.value, result.values["kept"]) == ((200_000, (1, {2})), [(1, {2}), {3: b"\x00"}])
    assert result.files == {"out/copy": large, "small": b"s"}
    assert "".join(told) == result.stdout == "first\nsecond\n"
    assert sandbox.get("given") == (1, {2})
    assert [each.reason for each in sandbox._repl.check_code("df['x'] = 1", RULES)] == ["missing_result", "read_mutation"]
    assert sandbox._repl.check_code("result = df", RULES) == []
    assert sandbox._repl.digest("given") == DIGEST
    del sandbox.files["small"]
    assert sandbox.files.sizes() == {"in.bin": len(large), "out/copy": len(large)}
    failed = sandbox.run("sum(range(10**12))", timeout=1.0)  # C code that looks at no signal: its worker is killed
    assert isinstance(failed.error, CellTimeout) and not failed.error.session_ended
    assert (sandbox.get("kept"), sandbox.files["out/copy"]) == ([(1, {2}), {3: b"\x00"}], large)
    sandbox.reset()
    assert (len(sandbox.files), "kept" in sandbox.run("1").check().values) == (0, False)


def test_all_of_it_locally() -> None:
    with Sandbox("standard") as sandbox:
        values_files_and_output(sandbox)


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("1 + 1", 2, "2"),
        ("x = 1", None, ""),
        ("None", None, ""),
        ("print('said')", None, ""),
        ("'a text'", "a text", "'a text'"),
        ("def f(): return (1, {2})\nf()", (1, {2}), "(1, {2})"),
        ("[n for n in range(300)]", list(range(300)), repr(list(range(300)))),
        ("import datetime\ndatetime.date(2024, 1, 2)", datetime.date(2024, 1, 2), "datetime.date(2024, 1, 2)"),
        ("if True:\n    5", None, ""),
        ("5; x = 6", None, ""),
        ("x = 6; x + 1;", 7, "7"),
        ("'''only a text'''", "only a text", "'only a text'"),
        ("# nothing", None, ""),
        ("", None, ""),
    ],
)
def test_the_value_is_that_of_the_last_expression(shared: Sandbox, code: str, value: Any, text: str) -> None:
    result = shared.run(code).check()
    assert (type(result.value), result.value, result.text) == (type(value), value, text)
    assert "<value>" not in result.locals


def test_a_cell_that_fails_has_no_value(shared: Sandbox) -> None:
    shared.run("5")
    result = shared.run("def f():\n    raise KeyError\nf()")
    assert (result.value, result.text, type(result.error).__name__) == (None, "", "CellException")


def test_an_object_is_shown_by_its_own_text_and_has_no_value(shared: Sandbox) -> None:
    result = shared.run("class P:\n    def __repr__(self):\n        return 'P!'\nP()").check()
    assert result.text == "P!"
    with pytest.raises(ValueNotPlain, match=r"the value of the result \(P\) cannot leave the sandbox: P is no plain data"):
        _ = result.value
    broken = shared.run("class Q:\n    def __repr__(self):\n        return 5\nQ()").check()
    assert broken.text == "<Q object>"


def test_a_text_that_never_ends_is_stopped_with_its_cell(sandbox: Sandbox) -> None:
    result = sandbox.run("class R:\n    def __repr__(self):\n        while True: pass\nR()", timeout=0.5)
    assert isinstance(result.error, CellTimeout)
    assert sandbox.run("1").check().value == 1


def test_variables_are_whole() -> None:
    with Sandbox("standard") as sandbox:
        _variables_are_whole(sandbox)


def _variables_are_whole(sandbox: Sandbox) -> None:
    sandbox.run(
        "import collections\nfrom decimal import Decimal\n"
        "many = list(range(300)); text = 'x' * 100_000; nested = {'a': [(1, {2})], 3: b'\\x00'}; nan = float('nan')\n"
        "counted = collections.Counter('aab'); price = Decimal('1.50')"
    ).check()
    result = sandbox.run("many; text; nested; nan; counted; price; y = 1").check()
    assert result.values["many"] == list(range(300))
    assert result.values["text"] == "x" * 100_000, "asked for: it is only mentioned"
    assert result.values["nested"] == {"a": [(1, {2})], 3: b"\x00"}
    assert result.values["nan"] != result.values["nan"]
    counted, price = result.values["counted"], result.values["price"]
    assert (type(counted), counted, type(price), str(price)) == (Counter, Counter("aab"), Decimal, "1.50")
    assert result.reprs["counted"] == "Counter({'a': 2, 'b': 1})"
    assert len(result.reprs["many"]) < 2100
    assert result.locals["price"] == "<Decimal object>", "as it was"


def test_a_value_whose_repr_raises_is_a_value(sandbox: Sandbox) -> None:
    code = "from collections import Counter\nfrom decimal import Decimal\nc = Counter(a=Decimal('sNaN'), b=Decimal(1))\nc"
    result = sandbox.run(code).check()
    assert set(result.value) == {"a", "b"}
    assert "c" in result.reprs
    assert repr(result.values).startswith("Values(<1 value>, refused=")
    assert repr(sandbox.run("x = 1 << 20_000").values) == "Values(<1 value>)"


def test_keys_of_equal_hash_are_a_value_that_is_not_returned(sandbox: Sandbox) -> None:
    result = sandbox.run("powers = {2**n: n for n in range(2300)}\nfinal_answer(powers)").check()
    with pytest.raises(ValueNotPlain, match="keys have the same hash"):
        result.values["powers"]
    assert result.final_value is None and result.final_answer
    assert sandbox.run("len(powers)").check().value == 2300


def test_a_value_is_there_after_its_session(sandbox: Sandbox) -> None:
    with Sandbox() as other:
        result = other.run("whole = [(1, 2)] * 1000; text = 'x' * 500_000").check()
    assert (result.values["whole"], len(result.values["text"])) == ([(1, 2)] * 1000, 500_000)


def test_what_is_too_large_is_an_error_with_its_size(sandbox: Sandbox) -> None:
    result = sandbox.run(f"fits = 'x' * {LIMIT - 2}; large = 'x' * {LIMIT - 1}; many = [0] * {LIMIT}; y = 1").check()
    assert len(result.values["fits"]) == LIMIT - 2
    assert set(result.values.refused) == {"large", "many"}
    assert "large" in result.values and "large" not in dict(result.values)
    for ask in (lambda: result.values["large"], lambda: result.values.get("large"), lambda: sandbox.get("large")):
        with pytest.raises(ValueTooLarge) as refused:
            ask()
        assert (refused.value.name, refused.value.size, refused.value.limit) == ("large", LIMIT + 1, LIMIT)
    with pytest.raises(ValueTooLarge, match=r"the value of many \(list\) takes 2,097,153 bytes of JSON or more, over"):
        sandbox.get("many")
    last = sandbox.run("large").check()
    assert last.text.endswith(f"... [{LIMIT - 1} long]")
    with pytest.raises(ValueTooLarge):
        _ = last.value


def test_more_values_than_a_result_carries_are_an_error(sandbox: Sandbox) -> None:
    result = sandbox.run("few = [0] * 90_000; many = [0] * 400_000")
    assert len(result.values["few"]) == 90_000
    with pytest.raises(ValueTooLarge, match="holds more values than one result carries"):
        _ = result.values["many"]


@pytest.mark.parametrize("limit", [4096, 65536, 8 << 20])
def test_a_result_of_texts_that_take_the_most_bytes_arrives(limit: int) -> None:
    face = "\U0001f600"  # four bytes of text, twelve of JSON
    with Sandbox({"extends": "standard", "limits": {"result_bytes": limit}}) as small:
        small.run("import sys\nkept = 5")
        out = f"text = '{face}' * {limit}\nprint(text)\nprint(text, file=sys.stderr)\n"
        shown = small.run(f"{out}'{face}' * {min(limit, 174_760)}", timeout=20.0).check()
        failed = small.run(f"{out}raise ValueError(text)", timeout=20.0)
        named = small.run(f"{out}class {chr(0x10330) * 128}: ...\n{chr(0x10330) * 128}()", timeout=20.0).check()
        for result in (shown, failed, named):
            assert result.stdout.startswith(face) and result.stderr.startswith(face) and result.dropped_bytes > 0
            assert small.run("kept").check().value == 5
        with pytest.raises(ValueTooLarge):
            _ = shown.value
        with pytest.raises(ValueNotPlain):
            _ = named.value
        assert isinstance(failed.error, CellException) and str(failed.error).startswith(f"ValueError: {face}")


@pytest.mark.parametrize(("limit", "names"), [(4096, 240), (8 << 20, 300)])
def test_values_of_variables_that_a_result_does_not_name_are_asked_for(limit: int, names: int) -> None:
    with Sandbox({"extends": "standard", "limits": {"result_bytes": limit}}) as small:
        result = small.run("\n".join(f"v{n} = list(range({n}))" for n in range(names))).check()
        last = f"v{names - 1}"
        assert last not in result.locals and result.values[last] == list(range(names - 1))
        for name in ("never", "_private", 5):
            with pytest.raises(KeyError):
                _ = result.values[name]
        small.run("v0 = None").check()
        with pytest.raises(ValueUnavailable, match="gone on"):
            _ = result.values[f"v{names - 2}"]


def test_a_variable_that_a_result_had_no_room_for_is_not_shown_as_an_empty_text() -> None:
    with Sandbox({"extends": "standard", "limits": {"result_bytes": 4096}}) as small:
        result = small.run("a = 5\nprint('x' * 9_000)").check()
        assert result.locals["a"] == result.reprs["a"] == "[not in this result, which is full]"
        assert result.values["a"] == 5
        assert small.run("b = 1").check().locals["a"] == 5


@pytest.mark.parametrize("limit", [4096, 8192, 16384])
def test_what_does_not_fit_into_one_result_is_an_error_with_its_size(limit: int) -> None:
    policy = {"extends": "standard", "limits": {"result_bytes": limit}}
    with Sandbox(policy) as small:
        result = small.run("x = 'a' * 30_000; y = [0] * 900\nx").check()
        assert result.text.endswith("... [30002 long]")
        for name, ask in (("the result", lambda: result.value), ("x", lambda: result.values["x"]), ("x", lambda: small.get("x"))):
            said = rf"the value of {name} \(str\) takes 30,002 bytes of JSON.*limits.result_bytes = {limit:,};"
            with pytest.raises(ValueTooLarge, match=said) as refused:
                ask()
            assert (refused.value.size, refused.value.limit) == (30_002, limit)
        assert result.values["y"] == [0] * 900
        with pytest.raises(KeyError):
            _ = result.values["never"]
        assert small.run("z = '\\x01' * 5\nprint('a' * 10_000)\nz").check().value == "\x01" * 5  # its output is cut
        crowded = small.run("\n".join(f"v{n} = list(range(100))" for n in range(60))).check()
        assert all(crowded.values[f"v{n}"] == list(range(100)) for n in range(60))
        failed = small.run("raise ValueError('\\x01' * 3_000)", timeout=20.0)
        assert isinstance(failed.error, CellException) and str(failed.error).startswith("ValueError: ")


def test_what_is_too_large_is_marked_for_after_its_session(sandbox: Sandbox) -> None:
    for code in ("many = [0] * 400_000", "few = [1]\nmany = [0] * 400_000", f"many = [0] * {LIMIT}", f"many = 'x' * {LIMIT}"):
        with Sandbox() as other:
            result = other.run(code).check()
        with pytest.raises(ValueTooLarge):
            _ = result.values["many"]


def test_all_that_does_not_fit_into_one_result_can_be_asked_for(sandbox: Sandbox) -> None:
    result = sandbox.run("a = 'x' * 900_000; b = 'y' * 900_000; c = ['\\u20ac' * 200_000, '\\x01' * 20_000]").check()
    assert {name: len(result.values[name]) for name in "abc"} == {"a": 900_000, "b": 900_000, "c": 2}
    every = sandbox.run("for n in range(40):\n    pass\n" + "\n".join(f"v{n} = '\\u20ac' * 200_000" for n in range(40)))
    assert all(every.check().values[f"v{n}"] == "\u20ac" * 200_000 for n in range(40))


def test_another_variable_is_read_until_the_session_goes_on(sandbox: Sandbox) -> None:
    sandbox.run("old = {'a': 1}")
    result = sandbox.run("y = 1").check()
    assert dict(result.values) == {"y": 1}
    assert result.values["old"] == {"a": 1}
    earlier = sandbox.run("y = 2").check()
    sandbox.run("old['a'] = 2")
    with pytest.raises(ValueUnavailable, match="the session has gone on since this result, and old was not read"):
        _ = earlier.values["old"]
    assert earlier.values["y"] == 2
    with pytest.raises(KeyError):
        _ = earlier.values["never"]


@pytest.mark.parametrize("moment", ["get", "_execute"])
def test_a_result_never_has_a_value_of_another_thread_s_cell(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """While it is read, and between the end of its cell and the result."""
    sandbox.run("it = 'old'").check()
    repl = sandbox._repl
    plain = getattr(repl, moment)

    def late(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        value = plain(*given, **named) if moment == "_execute" else None
        other = threading.Thread(target=sandbox.run, args=("it = 'new'",))
        other.start()
        other.join()
        return value if moment == "_execute" else plain(*given, **named)

    if moment == "_execute":
        monkeypatch.setattr(repl, moment, late)
    result = sandbox.run("y = 1").check()
    if moment == "get":
        monkeypatch.setattr(repl, moment, late)
    with pytest.raises(ValueUnavailable, match="has gone on"):
        result.values["it"]


def test_a_result_beside_a_cell_that_waits_is_not_read_later(sandbox: Sandbox) -> None:
    """The cell that waited runs after the result was made, as a request that was there before."""
    sandbox.run("it = 'old'").check()
    begun = threading.Event()
    slow = threading.Thread(target=sandbox.run, args=("it = 'new'",))

    def told(_text: str) -> None:
        slow.start()
        while sandbox._repl._under_way < 2:
            begun.wait(0.01)

    result = sandbox.run("print(1, flush=True)", on_stdout=told).check()
    slow.join()
    with pytest.raises(ValueUnavailable, match="has gone on"):
        result.values["it"]


def test_a_copy_that_was_made_during_a_cell_reads_variables(sandbox: Sandbox) -> None:
    sandbox.run("it = 'old'").check()
    made: list[Sandbox] = []
    copier = threading.Thread(target=lambda: made.append(sandbox.fork()))
    sandbox.run("print(1, flush=True)\nfor n in range(3_000_000): pass", on_stdout=lambda _text: copier.start()).check()
    copier.join()
    with made[0] as copied:
        assert copied.run("y = 1").check().values["it"] == "old"


def test_a_result_says_what_its_values_are_as_json(sandbox: Sandbox) -> None:
    result = sandbox.run("s = {1}; f = len; large = [0] * 2_000_000; n = [1, 'a']\n(1, 2)").check()
    known = json.loads(json.dumps(result.to_dict()))
    assert known["value"] == {"$tuple": [1, 2]}
    assert known["text"] == "(1, 2)"
    assert known["values"] == {
        "s": {"$set": [1]},
        "f": {"$no_data": "builtin_function_or_method"},
        "large": {"$too_large": 4_000_001},
        "n": [1, "a"],
    }
    assert "values" not in sandbox.run("pass").to_dict()


@pytest.mark.parametrize(
    "value",
    [1, None, "t" * 300_000, [1] * 90_000, {"a": (1, {2: b"x"})}, {1, 2}, float("inf"), {"$set": 1}, 1 << 20_000],
    ids=lambda value: type(value).__name__,
)
def test_what_is_set_is_what_a_cell_has(sandbox: Sandbox, value: Any) -> None:
    sandbox.set(it=value)
    assert sandbox.get("it") == value
    assert sandbox.run("type(it).__name__").check().value == type(value).__name__


def test_what_is_set_may_be_changed_by_cells(sandbox: Sandbox) -> None:
    sandbox.set(count=1, big=["x"] * 50_000)
    assert sandbox.run("count += 1; big.append('y')\n(count, len(big))").check().value == (2, 50_001)
    assert sandbox.run("(count, len(big))").check().value == (2, 50_001)


def test_what_is_set_outlives_a_killed_cell(sandbox: Sandbox) -> None:
    sandbox.set(kept={"a": (1, 2)})
    sandbox.set(large="x" * 200_000)
    assert isinstance(sandbox.run("while True:\n    try:\n        while True: pass\n    except: pass", timeout=0.5).error, Exception)
    assert (sandbox.get("kept"), len(sandbox.get("large"))) == ({"a": (1, 2)}, 200_000)


@pytest.mark.parametrize("name", ["llm_query", "context", "_x", "__name__", "a b", "class", "<sent>", ""])
def test_a_name_that_is_none_or_the_session_s_cannot_be_set(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be set"):
        sandbox.set(**{name: 1})


def test_what_is_no_plain_data_cannot_be_set(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match=r"the value\['a'\]\[0\] is of builtins\.object, which is no plain data"):
        sandbox.set(x={"a": [object()]})
    with pytest.raises(KeyError):
        sandbox.get("x")


def test_what_is_set_counts_as_a_context() -> None:
    with Sandbox(Policy.load({"extends": "strict", "limits": {"context_bytes": 100_000}})) as small:
        with pytest.raises(Refused, match=r"limits\.context_bytes"):
            small.set(x="x" * 200_000)


def test_names_of_the_guest_cannot_be_read(sandbox: Sandbox) -> None:
    sandbox.run("5")
    for name in ("__builtins__", "<value>", "<store>", "_getattr_"):
        with pytest.raises(KeyError):
            sandbox.get(name)


def test_an_answer_is_whole_or_an_error(sandbox: Sandbox) -> None:
    result = sandbox.run("final_answer({'rows': [(n, str(n)) for n in range(20_000)]})").check()
    assert result.final_value == {"rows": [(n, str(n)) for n in range(20_000)]}
    assert result.final_answer == str(result.final_value)
    caught = sandbox.run(
        "try:\n    final_answer(['x'] * 2_000_000)\nexcept ValueError as error:\n    print(error)\n    final_answer('less')"
    ).check()
    assert caught.final_answer == "less"
    assert caught.stdout.startswith("the answer takes 4000001 bytes or more, and may take 1048576")
    refused = sandbox.run("answer['content'] = ['x'] * 2_000_000\nanswer['ready'] = True")
    assert isinstance(refused.error, CellRefused) and refused.error.rule == "result-bytes"
    assert refused.final_answer is None


def test_an_environment_that_returns_no_values_says_so() -> None:
    class Other(Session):
        def execute(self, *_: Any, **__: Any) -> Any: ...
        def load_context(self, *_: Any) -> None: ...
        def assign(self, *_: Any) -> None: ...
        def alias(self, *_: Any) -> None: ...
        def read_text(self, *_: Any) -> Any: ...
        def interrupt(self) -> None: ...
        def close(self) -> None: ...
        @property
        def alive(self) -> bool:
            return True

    with pytest.raises(EnvironmentUnavailable, match="so x cannot be read"):
        Other().read_value("x")
    with pytest.raises(EnvironmentUnavailable, match="so x cannot be set"):
        Other().set_value("x", 1)
    assert not Variable("int").known


@pytest.mark.parametrize("made", ["[0] * 350_000", "[[i % 10] for i in range(110_000)]", "{str(i): 0 for i in range(80_000)}"])
def test_values_are_bounded_by_their_bytes_and_not_by_a_small_count(made: str) -> None:
    with Sandbox() as sandbox:
        result = sandbox.run(f"made = {made}").check()
        assert result.values["made"] == eval(made)
        assert sandbox.get("made") == eval(made)


def test_a_result_never_has_more_values_than_its_reader_takes() -> None:
    many = "[[] for _ in range(99_000)]"
    with Sandbox() as sandbox:
        result = sandbox.run(f"first, second = {many}, {many}\nanswer = {{'content': {many}, 'ready': True}}\nfirst").check()
        assert len(result.final_value) == len(result.values["first"]) == len(result.values["second"]) == 99_000
        with pytest.raises(ValueTooLarge, match="holds more values"):
            _ = result.value
        small = "\n".join(f"v{n} = [[[], [], []] for _ in range(60)]" for n in range(240))
        result = sandbox.run(f"{small}\nfinal_answer([[] for _ in range(140_000)])").check()
        assert len(result.final_value) == 140_000
        assert result.values["v239"] == [[[], [], []]] * 60
        assert sandbox.run("1").check().reprs["v239"]


def test_an_answer_with_too_many_values_says_so() -> None:
    with Sandbox() as sandbox:
        result = sandbox.run("final_answer([0] * 310_000)")
    assert "has more values than the 300,000" in str(result.error)


def test_a_text_of_a_variable_has_its_tuples() -> None:
    with Sandbox() as sandbox:
        bound = sandbox.run("pair, none, one = (1, [(2,)]), set(), frozenset({1})\ndeep = [(), {'a': ((),)}]").check()
        later = sandbox.run("pass").check()
    for result in (bound, later):
        assert result.reprs == {
            "pair": "(1, [(2,)])", "none": "set()", "one": "frozenset({1})", "deep": "[(), {'a': ((),)}]"
        }  # fmt: skip
    assert later.locals["pair"] == [1, [[2]]]
