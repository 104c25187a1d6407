"""The digest of a variable: exact, the same everywhere, bounded, and no object of a cell has a say in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from rlm_secure import Policy
from rlm_secure.broker.protocol import Variable, digest_of
from rlm_secure.environments.interface import Session
from rlm_secure.environments.local import LocalEnvironment
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.repl import REPL, no_host
from rlm_secure.errors import CellError, EnvironmentUnavailable, ProtocolViolation, SessionEnded, ValueNotPlain
from tests.broker import support


@pytest.fixture(scope="module")
def repl() -> Iterator[REPL]:
    with REPL(LocalEnvironment(), policy="standard") as made:
        yield made


@pytest.fixture(scope="module")
def data() -> Iterator[REPL]:
    with REPL(LocalEnvironment(), policy="data") as made:
        made.execute_code("import datetime\nimport numpy as np\nimport pandas as pd").check()
        yield made


#: Values of which no two are the same.
DIFFERENT = (
    "None", "True", "1", "1.0", "'1'", "b'1'", "0.0", "-0.0", "float('nan')", "'nan'", "''", "[]", "{}", "()",
    "[1]", "[True]", "[1.0]", "[[1]]", "[1, 2]", "[2, 1]", "[[1], 2]", "[12]", "(1, 2)", "{1, 2}",
    "{'a': 1}", "{'a': [1]}", "{'a': (1,)}", "{'a': [[1]]}", "{'a': {}}", "{'a': []}", "{'a': [], 'b': []}",
    "{'b': [], 'a': []}", "{'a': [1], 'b': [2]}", "{'a': [1, 2], 'b': []}", "{'a': [], 'b': [1, 2]}",
    "{'a': [None]}", "{'a': ['None']}", "{'': [1]}", "{1: [1]}", "{'1': [1]}", "{'a': ['\\ud800']}",
    "{'a': ['\\\\ud800']}", "{'a': ['\\x00']}", "[['a', 'list'], 1]", "{'$tuple': [1]}", "['$tuple', [1]]",
    "[0] * 10_000", "[0] * 10_001", "[0] * 20_000", "['x' * 2_000_000]", "['x' * 1_999_999, 'x']", "10 ** 2000",
)  # fmt: skip


def test_different_values_have_different_digests_and_equal_ones_the_same(repl: REPL) -> None:
    found: dict[str, str] = {}
    for text in DIFFERENT:
        repl.execute_code(f"one = {text}\nother = {text}").check()
        assert repl.digest("one") == repl.digest("other"), text
        found[text] = repl.digest("one")
    assert len(set(found.values())) == len(DIFFERENT)


def test_a_remote_session_has_the_same_digests(repl: REPL) -> None:
    with support.session() as session:
        for text in ("{'a': [1, None], 'b': ['x', b'y']}", "5"):
            assert session.execute(f"x = {text}", no_host).error is None
            repl.execute_code(f"x = {text}").check()
            assert session.digest("x") == repl.digest("x")
        assert session.digest("nothing") is None


#: Objects that a cell puts in the place of values, with what they pretend to be.
POSING = """
class Text(str):
    pass
class Number(int):
    pass
class Items(list):
    def __iter__(self):
        return iter([1])
class Names(dict):
    def items(self):
        return {'a': [1]}.items()
class Any:
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __str__(self): return '1'
    def __repr__(self): return '1'
    def __iter__(self): return iter([1])
    def __len__(self): return 1
    def __getitem__(self, at): return 1
"""


@pytest.mark.parametrize(
    "value",
    ["Any()", "[Any()]", "{'a': Any()}", "{'a': [Any()]}", "{Any(): 1}", "{'a': Items([1])}", "{'a': [Text('1')]}",
     "{'a': [Number(1)]}", "Names(a=[1])", "{Text('a'): [1]}", "Items", "print", "{'a': [print]}", "iter([1])"],
)  # fmt: skip
def test_no_object_of_a_cell_is_read_as_what_it_says(repl: REPL, value: str) -> None:
    repl.execute_code(f"{POSING}\nx = {value}").check()
    with pytest.raises(ValueNotPlain):
        repl.digest("x")


def test_names_that_no_cell_can_use(repl: REPL) -> None:
    repl.execute_code("first = {'a': [1]}").check()
    repl.session.alias("<kept>", "first")
    before = repl.digest("<kept>")
    repl.execute_code("first = {'a': [2]}").check()
    assert repl.digest("<kept>") == before != repl.digest("first")
    with pytest.raises(KeyError):
        repl.digest("nothing")


def test_a_digest_ends_with_its_cell_and_leaves_the_session(repl: REPL) -> None:
    """A value that is the same object many times over is short to hold and long to read."""
    small = Policy.load({"extends": "strict", "limits": {"cell_seconds": 1.0}})
    with REPL(LocalEnvironment(), policy=small) as made:
        made.execute_code("x = ['x' * 9]\nfor _ in range(40):\n    x = [x, x]").check()
        began = time.monotonic()
        with pytest.raises(CellError):
            made.digest("x")
        assert time.monotonic() - began < 20
    with REPL(LocalEnvironment(), policy=small) as made:
        made.execute_code("x = {}\nfor _ in range(2000):\n    x = {'a': x}").check()
        with pytest.raises(ValueNotPlain):
            made.digest("x")
        made.execute_code("x = []\nx.append(x)").check()
        with pytest.raises(ValueNotPlain):
            made.digest("x")


def test_a_digest_that_no_value_may_hold_is_an_error() -> None:
    small = Policy.load({"extends": "standard", "limits": {"value_bytes": 60}})
    with REPL(LocalEnvironment(), policy=small) as repl:
        repl.execute_code("x = [1]").check()
        with pytest.raises(CellError, match=r"limits\.value_bytes is too small for a digest"):
            repl.digest("x")


#: Changes of a table after which it is not the same.
CHANGED = (
    "df.loc[0, 'n'] = 5", "df.loc[0, 's'] = 'z'", "df.loc[0, 'f'] = -0.0", "df.loc[1, 's'] = 'nan'",
    "df['n'] = df['n'].astype(float)", "df['n'] = df['n'].astype('int32')", "df['n'] = df['n'].astype('Int64')",
    "df['n'] = df['n'].astype(object)", "df['s'] = df['s'].astype('category')",
    "df['s'] = pd.Categorical(df['s'], ordered=True)", "df['s'] = pd.Categorical(df['s'], ['c', 'a'])",
    "df.index = pd.CategoricalIndex([*'abc'])", "df.index = pd.CategoricalIndex([*'abc'], ordered=True)",
    "df['w'] = df['w'].dt.tz_localize('UTC')",
    "df.loc[0, 'w'] = pd.Timestamp('2024-01-01 00:00:00.000001')", "df['o'] = [pd.NaT, 1, 'x']",
    "df['o'] = [None, np.int64(1), 'x']", "df['o'] = [None, 1, np.str_('x')]", "df['o'] = [None, 1.0, 'x']",
    "df.index = [1, 2, 3]", "df.index = [0, 1, 2]", "df.index.name = 'x'", "df.columns.name = 'x'",
    "df.columns = [*'nsfwp']", "df = df[[*'snfwo']]", "df = df.iloc[::-1]", "df = df.iloc[:2]", "df['new'] = 1",
    "df.attrs['x'] = 1", "df = df.set_index('n')", "df = df.set_index(['n', 's'])", "df = df.T", "df = df['n']",
    "df['n'] = df['n'].astype(complex)", "df = df.iloc[:, :0]",
)  # fmt: skip
MADE = (
    "df = pd.DataFrame({'n': [1, 2, 3], 's': ['a', None, 'c'], 'f': [0.0, float('nan'), 1.5], "
    "'w': [pd.Timestamp('2024-01-01')] * 3, 'o': [None, 1, 'x']})"
)


def test_a_table_is_read_with_its_types_its_index_and_its_attributes(data: REPL) -> None:
    data.execute_code(MADE).check()
    found = {"": data.digest("df")}
    for change in CHANGED:
        data.execute_code(f"{MADE}\n{change}").check()
        try:
            found[change] = data.digest("df")
        except ValueNotPlain:
            found[change] = change
    assert len(set(found.values())) == 1 + len(CHANGED), found
    data.execute_code(f"{MADE}\ndf = df.copy()").check()
    assert data.digest("df") == found[""]


@pytest.mark.parametrize(
    "change",
    [
        "df['s'] = [Any(), Any(), Any()]", "df.attrs['x'] = Any()", "df.attrs = Names(a=[1])", "df.index = [Any(), 1, 2]",
        "df.index.name = Any()", "df.columns = [Any(), *'sfwo']", "df['s'] = pd.Series([Text('a'), None, 'c'], dtype=object)",
        "df['p'] = pd.period_range('2020', periods=3)", "df['i'] = pd.interval_range(0, 3)",
    ],
)  # fmt: skip
def test_what_is_no_data_in_a_table_is_not_read(data: REPL, change: str) -> None:
    if data.execute_code(f"{POSING}\n{MADE}\n{change}").error is None:
        with pytest.raises(ValueNotPlain):
            data.digest("df")


def test_a_class_of_a_cell_is_no_table(data: REPL) -> None:
    result = data.execute_code(f"{MADE}\nclass Own(pd.DataFrame):\n    pass\nx = Own(df)")
    if result.error is None:
        with pytest.raises(ValueNotPlain):
            data.digest("x")
    data.execute_code("x = np.array([1, 2])").check()
    with pytest.raises(ValueNotPlain):
        data.digest("x")


def test_a_session_that_computes_no_digests_says_so(repl: REPL) -> None:
    with pytest.raises(EnvironmentUnavailable, match="computes no digests"):
        Session.digest(repl.session, "x")


_LIE = """
import sys
worker = sys.modules['guest.session.worker']
worker.SessionWorker._digest = lambda self, request: {{**worker._done(), "value": {value}}}
"""


@pytest.mark.parametrize(
    "value",
    ["{'type': 'str', 'whole': 'short'}", "{'type': 'str', 'whole': 5}", "{'type': 'str', 'whole': 'A' * 64}",
     "{'type': 'str', 'whole': 'a' * 64 + chr(10)}"],
)  # fmt: skip
def test_a_worker_that_answers_with_something_else_loses_its_session(value: str) -> None:
    with open_session(Policy.load("standard"), screen=False) as session:
        assert session.execute(_LIE.format(value=value), no_host).error is None
        with pytest.raises(ProtocolViolation, match="digest"):
            session.digest("x")
        with pytest.raises(SessionEnded):
            session.digest("x")


@pytest.mark.parametrize("whole", [None, ("",), (5,), (["a" * 64],), ("a" * 65,), ("g" * 64,), ("\u0661" * 64,)])
def test_hostile_digests_are_a_violation(whole: Any) -> None:
    with pytest.raises(ProtocolViolation):
        digest_of(Variable("str", whole=whole))
