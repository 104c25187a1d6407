"""What the check of code finds in its text, and what it leaves alone: a false finding costs a whole reply of a model."""

from __future__ import annotations

from typing import Any

import pytest

from rlm_secure.guest.language import compiler
from rlm_secure.guest.language.guardrails import MOST_FINDINGS, MOST_TEXT, Rules
from rlm_secure.policy.model import FORBIDDEN_CALLS

GIVEN: dict[str, Any] = {
    "result": "result",
    "table": ["df", "columns"],
    "imports": False,
    "forbidden_calls": [*FORBIDDEN_CALLS, "os.system"],
    "mode": "read",
    "filter": False,
}


def found(code: str, *, nodes: int = 50_000, **changed: Any) -> list[tuple[str, int]]:
    """The reasons and lines of what is found in `code`."""
    rules = Rules.of({**GIVEN, **changed})
    made = compiler.check(code, rules, source_bytes=300_000, ast_nodes=nodes)
    assert len(made) <= MOST_FINDINGS and all(0 < len(each.message) <= MOST_TEXT for each in made)
    return [(each.reason, each.line) for each in made]


@pytest.mark.parametrize(
    "code",
    [
        "result = 1",
        "a = result = 1",
        "result: int = 1",
        "result = 0\nresult += 1",
        "result += 1",
        "print(result := 1)",
        "[result := x for x in [1]]",
        "[[result := y for y in x] for x in [[1]]]",
        "for result in [1]: pass",
        "for a, (b, *result) in []: pass",
        "with x as result: pass",
        "a, [b, result] = 1, (2, 3)",
        "*result, a = 1, 2",
        "if a: pass\nelif b:\n    result = 1",
        "for a in b: pass\nelse: result = 1",
        "while a: result = 1",
        "try: pass\nexcept E: pass\nelse: pass\nfinally: result = 1",
        "try: pass\nexcept E: result = 1",
        "try: pass\nexcept* E: result = 1",
        "match a:\n    case 1: result = 1",
        "match a:\n    case [1, *result]: pass",
        "match a:\n    case {'k': 1, **result}: pass",
        "match a:\n    case int() as result: pass",
        "async def f(): pass\nasync for result in f(): pass",
        "def f():\n    global result\n    result = 1\nf()",
        "def f():\n    global result\n    result = 1\ng = map(f, [])",
        "class A:\n    def f(self):\n        global result\n        result = 1\nA().f()",
        "class A:\n    global result\n    result = 1",
    ],
)
def test_a_result_is_what_the_module_level_binds(code: str) -> None:
    assert ("missing_result", 0) not in found(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "1",
        "result",
        "result: int",
        "result == 1",
        "del result",
        "def result(): pass",
        "class result: pass",
        "import result",
        "import a as result",
        "from a import result",
        "def f():\n    result = 1\nf()",
        "def f():\n    global result\n    result = 1",
        "def f():\n    global result\nf()",
        "class A:\n    result = 1",
        "[result for result in [1]]",
        "{result: 1 for result, b in [1]}",
        "lambda: (result := 1)",
        "lambda result: 1",
        "try: pass\nexcept E as result: pass",
        "a.result = 1",
        "a['result'] = 1",
        "f(result=1)",
    ],
)
def test_what_is_no_result_of_the_module_level(code: str) -> None:
    assert ("missing_result", 0) in found(code, imports=True)
    assert ("missing_result", 0) not in found(code, result="")


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "import os.path as p",
        "from re import *",
        "from . import a",
        "def f():\n    from re import match",
        "from __future__ import annotations",
    ],
)
def test_imports_are_found_anywhere_unless_they_are_allowed(code: str) -> None:
    assert "import" in [reason for reason, _ in found(code)]
    assert "import" not in [reason for reason, _ in found(code, imports=True)]


def test_an_import_comes_before_what_the_language_says_of_it() -> None:
    assert found("result = 1; import _a") == [("import", 1), ("language", 1)]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("eval('1')", 1),
        ("a = 1\nx = [exec('1') for b in c]", 2),
        ("df.to_csv('a')", 1),
        ("df.groupby('a').sum().to_csv('a')", 1),
        ("df['a'].to_csv('a')", 1),
        ("pd.read_csv('a')", 1),
        ("os.system('a')", 1),
        ("a.os.system('a')", 1),
        ("f = eval", 1),
        ("f(g, key=getattr)", 1),
        ("compile('1', '', 'exec')", 1),
        ("a.compile('1')", 1),
        ("@eval\ndef f(): pass", 1),
    ],
)
def test_forbidden_calls_are_found(code: str, line: int) -> None:
    assert ("forbidden_call", line) in found(code)


@pytest.mark.parametrize(
    "code",
    [
        "system('a')",
        "os.system.a('a')",
        "b.system('a')",
        "df.to_csv_text()",
        "df['open'] if df.open else 'eval'",
        "open = df['open']; low = open - 1",
        "def f(input): return input",
        "[vars for vars in a]",
        "f(open=1)",
        "re.compile('a')",
        "f()()",
    ],
)
def test_what_only_looks_like_a_forbidden_call_is_left_alone(code: str) -> None:
    assert "forbidden_call" not in [reason for reason, _ in found(code)]


def test_a_forbidden_call_may_be_that_of_re() -> None:
    assert found("result = re.compile('a')", forbidden_calls=["re.compile"]) == [("forbidden_call", 1)]


@pytest.mark.parametrize(
    "code",
    [
        "df['x'] = 1",
        "df.loc[df.x > 1, 'y'] = 0",
        "df[df.x > 1] = 0",
        "df.at[0, 'x'] = 1",
        "df.columns = ['a']",
        "df.columns.name = 'a'",
        "columns['a'][0] = 1",
        "columns['a'][-1] = 1",
        "columns['a'][-1].append(1)",
        "columns.get('a')[0] = 1",
        "df['x'] += 1",
        "df['x']: int = 1",
        "df.x.values[0] -= 1",
        "df += 1",
        "del df['x']",
        "del df.x",
        "a, df['x'] = 1, 2",
        "for df['x'] in a: pass",
        "with a as df['x']: pass",
        "df.dropna(inplace=True)",
        "df['a'].fillna(0, inplace=yes)",
        "df.insert(0, 'a', 1)",
        "df.pop('a')",
        "columns['a'].append(1)",
        "columns['a'].sort()",
        "columns.update(a=1)",
        "columns.setdefault('a', [])",
        "f(df.pop('a'))",
        "d = df\nd['x'] = 1",
        "(d := df)['x'] = 1; d['x'] = 1",
        "d: object = df\nd['x'] = 1",
        "rows = columns['a']\nrows[0] = 1",
        "rows = columns['a']\nrows.clear()",
        "for name in columns: columns[name].append(1)",
        "name = 'a'\ncolumns[name].append(1)",
        "[columns[name].pop() for name in columns]",
        "def f():\n    df['x'] = 1",
        "class A:\n    df['x'] = 1",
        "g = lambda: df.pop('a')",
        "if a:\n    df['x'] = 1",
        "df = df\ndf['x'] = 1",
        "df += 1\ndf['x'] = 1",
        "d = df\nd += 1\nd['x'] = 1",
        "d = df\nd.loc[d.x > 1, 'x'] = 1",
        "d = df\ne = d\ne.dropna(inplace=True)",
        "rows = columns['a']\nrows[-1] = 1",
        "rows = columns['a']\nrows[n - 1] = 1",
        "rows = columns['a']\nrows[1:] = []",
        "rows = columns['a']\nfor i in range(3): rows[i] = 1",
        "rows = columns['a']\nmore = rows\ndel more[0]",
        "rows = columns.get('a')\nrows.sort()",
    ],
)
def test_changes_of_a_table_in_place_are_found(code: str) -> None:
    assert "read_mutation" in [reason for reason, _ in found(code)]
    assert "missing_edit" not in [reason for reason, _ in found(code, mode="edit")]


@pytest.mark.parametrize(
    "code",
    [
        "df = df[df.x > 1]",
        "df = df.copy()\ndf['x'] = 1",
        "d = df.copy()\nd['x'] = 1",
        "d = df[df.x > 1]\nd['x'] = 1",
        "mask = df.x > 1\nd = df[mask]\nd['x'] = 1",
        "d = df[['a', 'b']]\nd['x'] = 1",
        "d = df.loc['a']\nd['x'] = 1",
        "d = df.iloc[0]\nd['x'] = 1",
        "rows = list(columns['a'])\nrows.append(1)",
        "rows = sorted(columns['a'])\nrows[0] = 1",
        "d = dict(columns)\nd['x'] = 1",
        "d = df\nd = 1\nd['x'] = 1",
        "n = columns['a'][0]\nn += 1",
        "df.drop_duplicates()",
        "df.dropna(inplace=False)",
        "df.dropna(axis=0)",
        "df.columns.insert(0, 'a')",
        "df.index.append(b)",
        "df.copy().insert(0, 'a', 1)",
        "other['x'] = 1",
        "other.append(1)",
        "append(1)",
        "del df",
        "df['x']: int",
        "t = df.T\nt['x'] = 1",
        "kinds = df.dtypes\nkinds['x'] = 1",
        "names = df.columns\nmore = names.insert(0, 'x')",
        "index = df.index\nboth = index.append(other)",
        "s = df.x\ns.fillna(0, inplace=True)\ns[0] = 1",
        "s = df['x']\ns[s.isna()] = 0\ns[mask] = 0\ns['a'] = 1",
        "s = df['x']\ns.index = df['y']\ns.loc['a'] = 1\ns.dt.tz = 1",
        "s = df['x']\ns.fillna(0, inplace=True)\ns.update(other)\ns.sort(inplace=True)\ns.head().iloc[0] = 1",
        "def f(df):\n    df['x'] = 1",
        "f = lambda df: df.pop('a')",
        "[df.pop() for df in a]",
        "[[b for b.x in a] for (df, [c]) in a]",
        "f()(1)['x'] = 1",
        "df" + ".a" * 70 + " = 1",
        "\n".join(f"a{n} = df" for n in range(120)) + "\na119['x'] = 1",
    ],
)
def test_what_leaves_a_table_as_it_is_is_left_alone(code: str) -> None:
    assert "read_mutation" not in [reason for reason, _ in found(code)]


@pytest.mark.parametrize(
    "code",
    [
        "df = df[df.x > 1]",
        "def f():\n    global df\n    df = 1\nf()",
        "for row in columns['a']: row.append(1)",
        "for name, values in columns.items(): values[0] = 1",
        "def f(table):\n    table['x'] = 1\nf(df)",
        "d = df[df.x > 1]\nd['x'] = 1",
        "rows = columns[name]\nrows += [1]",
        "a, b = columns['a'], columns['b']\na[0], b[0] = b[0], a[0]",
        "(a, [b, *c]) = columns.values()\nc[0].append(1)",
        "cells = [columns['a'], 1]\nfor each in cells: each[0] = 1",
        "cells = {'k': columns['a']}\ncells['k'][0] = 1",
        "cells = columns if a else b\ncells['k'][0] = 1",
        "cells = [columns[name] for name in b]\ncells[0].sort()",
        "cells = {name: values for name, values in columns.items()}\ncells['a'].sort()",
        "for values in (v for v in columns.values()): values.pop()",
        "for i, (name, values) in enumerate(columns.items()): values.pop()",
        "for values in list(columns.values()): values.pop()",
        "for values, new in zip(columns.values(), row): values.append(new)",
        "[values.pop() for _, values in sorted(columns.items())]",
        "s = df['x']\ns.index = df['y']",
    ],
)
def test_an_edit_is_whatever_may_change_or_rebind_the_table(code: str) -> None:
    assert ("missing_edit", 0) not in found(code, mode="edit")


@pytest.mark.parametrize(
    "code",
    ["result = len(df)", "d = df.copy()\nd['x'] = 1", "other = {}\nother['x'] = 1", "def f():\n    df = 1\nf()"]
    + ["d = dict(other)\nd['x'] = 1", "d = f(df)\nd['x'] = 1"]
    + [f"a = [df, {'b, ' * 100}]\na[0]['x'] = 1"]
    + [f"def f({', '.join(f'a{n}' for n in range(100))}):\n    a1['x'] = 1\nf(df)"],
)
def test_an_edit_that_changes_nothing_is_found(code: str) -> None:
    assert ("missing_edit", 0) in found(code, mode="edit")
    assert ("missing_edit", 0) not in found(code)


@pytest.mark.parametrize(
    "code",
    [
        "df[df.x > 1]",
        "a == 1",
        "a in b",
        "df[~df.x]",
        "not a",
        "a and b",
        "a | b",
        "a if b else c",
        "if a: pass",
        "match a:\n    case 1: pass",
        "[a for a in b if a]",
        "filter(None, a)",
        "df.query('x')",
        "df.x.isin(a)",
        "df.x.str.contains('a')",
        "df[df['open']]",
        "df[df.open]",
        "columns['a'].count('x')",
        "df.x.value_counts().get('a')",
        "df.x.value_counts()['a']",
        "df.groupby('a')['b'].sum()['x']",
        "counts = df.x.value_counts()\ncounts['a']",
        "counts = df.x.value_counts()\nmore = counts\nmore['a']",
        "a = 'x'\ncounts = df.x.value_counts()\ncounts[a]",
        "prices = {a: b for a, b in zip(c, d)}\nprices['a']",
        "prices = {}\nfor a, b in zip(c, d): prices[a] = b\nprices['a']",
        "mask = df['open']\ndf[mask]",
        "mask = df.open\ndf[mask]",
        "s = df['x']\ns.index = df['y']\ns['a']",
        "set(a).intersection(b)",
        "df.loc['a']",
        "df.loc['a', 'b']",
        "df.at[0, 'a']",
    ],
)
def test_whatever_selects_is_a_condition(code: str) -> None:
    assert ("missing_filter", 0) not in found(code, filter=True)


@pytest.mark.parametrize(
    "code",
    [
        "result = df['x'].sum()",
        "df.loc[:, 'a']",
        "df.iloc[0]",
        "columns['a'].count()",
        "df.groupby('a')['b'].sum()",
        "g = df.groupby('a')\ng['b']",
        "counts = df.x.value_counts()\ncounts = 1\ncounts['a']",
        "counts[a]",
        "prices = {'a': 1}\nprices['a']",
        "columns[name]",
        "for name in columns: columns[name]",
        "name = df\ncolumns[name]",
        "-a + b",
        "[a for a in b]",
        "f(1)['a']",
        "f()()['a']",
        "(1)['a']",
        "df" + "[0]" * 70 + "['a']",
    ],
)
def test_code_without_a_condition_is_found(code: str) -> None:
    assert ("missing_filter", 0) in found(code, filter=True)
    assert ("missing_filter", 0) not in found(code)


def test_what_the_language_refuses_is_found_where_it_is() -> None:
    assert found("result = 1\nx.__globals__\n\ny.__code__") == [("language", 2), ("language", 4)]
    assert found("result = (") == [("syntax", 1)]
    assert found("result = 1\nreturn 1") == [("syntax", 2)]
    assert found("result = '\ud800'") == [("language", 0)]
    assert found("a\0b")[0][0] == "syntax"


def test_findings_are_sorted_by_line_and_few() -> None:
    code = "\n".join(f"df['x'] = 1; eval('{n}'); x.__globals__" for n in range(50))
    made = found(code)
    assert len(made) == MOST_FINDINGS and made[0] == ("missing_result", 0)
    assert made == sorted(made, key=lambda each: each[1])


def test_a_long_name_is_shortened() -> None:
    name = "a" * 5000
    assert found(f"import {name}\n{name}()", result=name, table=[name] * 5, forbidden_calls=[name], mode="edit")


@pytest.mark.parametrize("code", ["x\n" * 100_000, "x = 1\n" * 40_000, "-" * 90 + "1" + ", -a" * 90])
def test_a_tree_that_is_too_large_is_refused_as_a_cell_is(code: str) -> None:
    assert found(code, nodes=100) == [("language", 0)]


def test_the_limit_of_nodes_is_that_of_the_guardrails_as_well() -> None:
    code = "match a:\n" + "".join(f"    case [1, {n}]: pass\n" for n in range(30))
    assert {found(code, nodes=limit)[0] for limit in range(1, 150)} == {("language", 0)}
    assert ("language", 0) not in found(code, nodes=1000)


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [],
        {},
        {**GIVEN, "more": 1},
        {**GIVEN, "result": None},
        {**GIVEN, "table": "df"},
        {**GIVEN, "table": [1]},
        {**GIVEN, "imports": 0},
        {**GIVEN, "forbidden_calls": ["a", None]},
        {**GIVEN, "mode": "write"},
        {**GIVEN, "filter": "yes"},
    ],
)
def test_other_rules_are_refused(rules: Any) -> None:
    with pytest.raises(ValueError, match="rules"):
        Rules.of(rules)
