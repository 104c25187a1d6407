"""Every position of the grammar is walked: whatever is put there, the check sees it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

import pytest

from rlm_secure.guest.language.transformer import _TABLE, CellTransformer

GRAMMAR = '''
import a, b.c as d
from e.f import g, h as i
x: int = 1
x, *y = z = w
x[1:2, ::3] += y.z
del x, y[0], z.w
for i, (j, k) in x: pass
else: pass
while x: break
else: done()
while y: continue
if x: pass
elif y: pass
else: pass
with a as b, c.d as (e, *f): pass
try: raise A(1) from b
except* (B, C) as d: pass
else: pass
finally: pass
try: raise A(1) from b
except (B, C) as d: pass
except: pass
else: pass
finally: pass
assert x, y
global_ = lambda a, /, b=1, *c, d, e=2, **f: (yield)
@deco(1)
@other
def f(a: int, /, b: str = 1, *c: x, d, e=2, **g: y) -> z:
    """doc"""
    global q
    n = 1
    def inner():
        nonlocal n
        return (yield from n)
    return a if b else c
@deco
class A(B, C, mark=x, **more):
    y: int = 0
    def method(self):
        self.z = self._w = 1
        self.z += self._w
        del self.z
        return super().method(), self.__private, type(self).__name__
match x:
    case 1 | -1 | "s" | None | a.b: pass
    case [1, *rest] if y: pass
    case {"k": v, a.b: 1, **more}: pass
    case Point(1, p, x=0, y=Point(q)) as r: pass
    case _: pass
print(*a, k=b, **c)
[x for y in z if w for (u, v) in t]
{x: y for x, y in z}
{x for y in z}
(x for y in z)
[1, *a]
(2, *b)
{3, *c}
{4: d, **e}
f"{x!r:>{y}} {z}"
not x and y or z < w in v is not u
~x + -y ** z
(m := n)
a.b.c(d)[e].f
"{}".format(g)
h.format(i)
j.obj
...
'''

BAD = ast.Attribute(ast.Name("x", ast.Load()), "__globals__", ast.Load())
#: Fields whose text is no name of the cell's: a called function's parameter, a module (the import guard decides),
#: a conversion or a comment.
OTHER_TEXT = {
    ("keyword", "arg"),
    ("ImportFrom", "module"),
    ("Constant", "value"),
    ("Constant", "kind"),
    ("Assign", "type_comment"),
}


def rules(tree: ast.Module) -> set[str]:
    screen = CellTransformer(100_000)
    screen.screen(tree)
    return {finding.rule for finding in screen.findings}


def variants(replace: type, new: ast.AST) -> Iterator[tuple[str, ast.Module]]:
    """The grammar with one node of the kind `replace` after the other turned into `new`."""
    original = ast.parse(GRAMMAR)
    places = [
        (number, field, index)
        for number, node in enumerate(ast.walk(original))
        for field, value in ast.iter_fields(node)
        for index, child in (enumerate(value) if isinstance(value, list) else ((None, value),))
        if isinstance(child, replace) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load)
    ]
    for number, field, index in places:
        tree = copy.deepcopy(original)
        node = list(ast.walk(tree))[number]
        placed = ast.fix_missing_locations(copy.deepcopy(new))
        for each in ast.walk(placed):
            if hasattr(each, "_attributes") and "lineno" in each._attributes:
                ast.copy_location(each, ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=1))
        if index is None:
            setattr(node, field, placed)
        else:
            getattr(node, field)[index] = placed
        yield f"{type(node).__name__}.{field}[{index}] at line {getattr(node, 'lineno', '?')}", tree


def test_the_grammar_itself_is_accepted() -> None:
    assert rules(ast.parse(GRAMMAR)) == set()
    seen = {type(node) for node in ast.walk(ast.parse(GRAMMAR))}
    refused = {ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await}
    assert set(_TABLE) - refused <= seen


def test_every_expression_position_is_walked() -> None:
    tried = 0
    for where, tree in variants(ast.expr, BAD):
        assert rules(tree) & {"dunder-attribute", "pattern-attribute"}, where
        tried += 1
    assert tried > 180


def test_every_statement_position_is_walked() -> None:
    tried = 0
    for where, tree in variants(ast.stmt, ast.Expr(BAD)):
        assert "dunder-attribute" in rules(tree), where
        tried += 1
    assert tried > 50


@pytest.mark.parametrize("name", ["__builtins__", "_getattr_"])
def test_every_name_position_is_checked(name: str) -> None:
    original = ast.parse(GRAMMAR)
    tried = 0
    for number, node in enumerate(ast.walk(original)):
        for field, value in ast.iter_fields(node):
            if (type(node).__name__, field) in OTHER_TEXT:
                continue
            for index, text in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(text, str) or (field == "name" and text == "*"):
                    continue
                tree = copy.deepcopy(original)
                target = list(ast.walk(tree))[number]
                if isinstance(value, list):
                    getattr(target, field)[index] = name
                else:
                    setattr(target, field, name)
                found = rules(tree)
                assert found & {
                    "dunder-name", "dunder-attribute", "hook-name", "pattern-attribute", "private-import", "closed-attribute",
                }, f"{type(node).__name__}.{field} at line {getattr(node, 'lineno', '?')}"  # fmt: skip
                tried += 1
    assert tried > 150
