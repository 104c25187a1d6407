"""The compiler: which text becomes code, and what the refusal of the rest says."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import types
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from rlm_secure.guest.language import names, registry
from rlm_secure.guest.language.compiler import CellRefused, compile_cell, compile_plain, run
from rlm_secure.guest.language.transformer import CellTransformer
from tests.growth.cost import assert_linear

from .cells import LIMITS, Session, rule_of

ROOT = Path(__file__).parents[2]

REFUSED = {
    # names that belong to the interpreter
    "__builtins__": "dunder-name",
    "__build_class__": "dunder-name",
    "__loader__": "dunder-name",
    "__spec__": "dunder-name",
    "__file__ = 1": "dunder-name",
    "x = __class__": "dunder-name",
    "__name__ = 'x'": "dunder-name",
    "del __name__": "dunder-name",
    "def __getattr__(name): pass": "dunder-name",
    "def f():\n    __x__ = 1": "dunder-name",
    "class A:\n    __class__ = int": "dunder-name",
    "class A:\n    __module__ = 'sys'": "dunder-name",
    "class A:\n    def __del__(self): pass": "dunder-name",
    "class A:\n    def __getattribute__(self, n): pass": "dunder-name",
    "class A:\n    def __reduce_ex__(self, n): pass": "dunder-name",
    "class A:\n    def __mro_entries__(self, b): pass": "dunder-name",
    "class A:\n    def __buffer__(self, f): pass": "dunder-name",
    "class A:\n    def __prepare__(cls): pass": "dunder-name",
    "class A:\n    def __instancecheck__(cls, x): pass": "dunder-name",
    "class A:\n    def __subclasshook__(cls, x): pass": "dunder-name",
    "class A:\n    __abstractmethods__ = ()": "dunder-name",
    "class A:\n    __orig_bases__ = ()": "dunder-name",
    "class A:\n    __annotations__ = {}": "dunder-name",
    "class A:\n    def f(self):\n        def __del__(self): pass": "dunder-name",
    "def f():\n    __init__ = 1": "dunder-name",
    "def f():\n    global __init__\n    def __init__(self): pass": "dunder-name",
    "__init__": "dunder-name",
    # attributes
    "x.__globals__": "dunder-attribute",
    "x.__subclasses__()": "dunder-attribute",
    "x.__class__ = y": "dunder-attribute",
    "x.__dict__ = {}": "dunder-attribute",
    "x.__match_args__ = ()": "dunder-attribute",
    "del x.__class__": "dunder-attribute",
    "x.__code__ += 1": "dunder-attribute",
    "for x.__code__ in y: pass": "dunder-attribute",
    "with x as y.__code__: pass": "dunder-attribute",
    "[0 for x.__code__ in y]": "dunder-attribute",
    "x.__self__": "dunder-attribute",
    "x.__traceback__ = y": "dunder-attribute",
    "x.__context__ = y": "dunder-attribute",
    "x.__mro__ = y": "dunder-attribute",
    "x.__defaults__ = y": "dunder-attribute",
    "x.__getattribute__('y')": "dunder-attribute",
    "x.__reduce_ex__(2)": "dunder-attribute",
    "x.__init_subclass__.__func__": "dunder-attribute",
    "f'{x.__globals__}'": "dunder-attribute",
    "f'{x:{y.__globals__}}'": "dunder-attribute",
    "x.gi_frame": "closed-attribute",
    "x.f_back": "closed-attribute",
    "x.tb_next": "closed-attribute",
    # the hooks of RestrictedPython
    **{f"{hook} = 1": "hook-name" for hook in sorted(names.HOOKS)},
    "_getattr_(x, 'y')": "hook-name",
    "x._getattr_": "hook-name",
    # imports
    "def f():\n    from json import *": "star-import",
    "class A:\n    from json import *": "star-import",
    "from . import x": "relative-import",
    "from .x import y": "relative-import",
    "import _thread": "private-import",
    "import json._x": "private-import",
    "from json import _x": "private-import",
    "from __future__ import barry_as_FLUFL": "future-import",
    "import json as __builtins__": "dunder-name",
    "from json import dumps as __import__": "dunder-name",
    # patterns
    "match x:\n    case A(__class__=y): pass": "pattern-attribute",
    "match x:\n    case A(_y=z): pass": "pattern-attribute",
    "match x:\n    case A(gi_frame=z): pass": "pattern-attribute",
    "match x:\n    case A(obj=z): pass": "pattern-attribute",
    "match x:\n    case A(format=z): pass": "pattern-attribute",
    "class C:\n    match x:\n        case A(y): pass": "pattern-attribute",
    "class C:\n    match x:\n        case [1, {'a': A(b=A(y))}]: pass": "pattern-attribute",
    "match x:\n    case a._b: pass": "pattern-attribute",
    "match x:\n    case a.__class__: pass": "pattern-attribute",
    "match x:\n    case {a.__class__: 1}: pass": "pattern-attribute",
    "match x:\n    case a._b(): pass": "pattern-attribute",
    "match x:\n    case [1, A(b=A(__dict__=c))]: pass": "pattern-attribute",
    # the rest
    "class A(metaclass=M): pass": "metaclass",
    "class A(metaclass=f(ABCMeta)): pass": "metaclass",
    "async def f():\n    yield 1": "async-generator",
    "async def f():\n    return any(await x for x in y)": "async-generator",
    "x = (y async for y in z)": "async-generator",
    "await (y for y in [z for z in (await x for x in w)])": "async-generator",
    "def f():\n    await x": "syntax",
    "class A:\n    await x": "syntax",
    "await x\nclass A:\n    y = [await z for z in x]": "syntax",
    "f = lambda: await x": "syntax",
    "try:\n    pass\nexcept* x.__y__:\n    pass": "dunder-attribute",
    # what is no Python at all
    "x = ": "syntax",
    "x = (": "syntax",
    "\tx": "syntax",
    "if x:\npass": "syntax",
    "x = 'a": "syntax",
    "return 1": "syntax",
    "x = 1\0": "syntax",
    "x = " + "9" * 5000: "syntax",
    "x = '\ud800'": "encoding",
    "x = " + "-" * 100_000 + "1": "too-complex",
    "x = 1" + "+1" * 50_000: "too-complex",
    "x = a" + ".b" * 50_000: "too-complex",
}


@pytest.mark.parametrize("source", REFUSED, ids=lambda source: source[:50].encode("unicode_escape").decode())
def test_refused(source: str) -> None:
    assert rule_of(source) == REFUSED[source]


BINDINGS = {
    "assignment": "{} = 1",
    "augmented": "{} += 1",
    "annotated": "{}: int = 1",
    "annotation-only": "{}: int",
    "unpacking": "a, {} = 1, 2",
    "nested-unpacking": "a, (b, [{}]) = 1",
    "starred": "a, *{} = 1",
    "for": "for {} in x: pass",
    "for-tuple": "for a, {} in x: pass",
    "with": "with x as {}: pass",
    "with-tuple": "with x as (a, {}): pass",
    "except": "try: pass\nexcept E as {}: pass",
    "import": "import {}",
    "import-as": "import json as {}",
    "from-import": "from json import {}",
    "from-import-as": "from json import x as {}",
    "def": "def {}(): pass",
    "class": "class {}: pass",
    "parameter": "def f({}): pass",
    "positional-only": "def f({}, /): pass",
    "keyword-only": "def f(*, {}): pass",
    "default": "def f({}=1): pass",
    "star-parameter": "def f(*{}): pass",
    "double-star-parameter": "def f(**{}): pass",
    "lambda": "lambda {}: 0",
    "lambda-star": "lambda *{}: 0",
    "lambda-positional-only": "lambda {}, /: 0",
    "walrus": "({} := 1)",
    "walrus-in-comprehension": "[({} := y) for y in x]",
    "comprehension": "[0 for {} in x]",
    "generator": "(0 for {} in x)",
    "dict-comprehension": "{{0: 0 for {} in x}}",
    "delete": "del {}",
    "global": "def f():\n    global {}",
    "nonlocal": "def g():\n    {0} = 1\n    def f():\n        nonlocal {0}",
    "capture": "match x:\n    case {}: pass",
    "capture-as": "match x:\n    case 1 as {}: pass",
    "capture-star": "match x:\n    case [a, *{}]: pass",
    "capture-rest": "match x:\n    case {{**{}}}: pass",
    "capture-in-class": "match x:\n    case A(b={}): pass",
    "capture-positional": "match x:\n    case A({}): pass",
    "class-body": "class A:\n    {} = 1",
    "class-body-def": "class A:\n    def {}(self): pass",
    "class-body-import": "class A:\n    import json as {}",
    "class-body-for": "class A:\n    for {} in x: pass",
}


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", ["_getattr_", "_write_", "__import__", "__builtins__", "__build_class__", "__class__"])
def test_no_grammar_binds_a_reserved_name(binding: str, name: str) -> None:
    source = BINDINGS[binding].format(name)
    assert rule_of(source) in {"hook-name", "dunder-name", "private-import"}


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", ["_ｇetattr_", "__ｉmport__", "__𝐛𝐮𝐢𝐥𝐭𝐢𝐧𝐬__", "_ᵍetattr_"])
def test_no_grammar_binds_a_look_alike(binding: str, name: str) -> None:
    source = BINDINGS[binding].format(name)
    assert rule_of(source) in {"hook-name", "dunder-name", "private-import"}


@pytest.mark.parametrize("binding", sorted(set(BINDINGS) - {"import", "from-import"}))
@pytest.mark.parametrize("name", ["x", "_x", "_", "__x", "print", "input"])
def test_every_grammar_binds_an_ordinary_name(binding: str, name: str) -> None:
    if name != "_" or binding not in ("capture-as", "capture-rest"):  # that would be no Python
        assert rule_of(BINDINGS[binding].format(name)) is None


def test_guard_names_are_no_identifiers_in_any_normal_form() -> None:
    guards = [names.STORE, names.PRIVATE, names.ATTRIBUTE, names.IMPORT, names.IMPORT_FROM, names.IMPORT_ALL,
              names.REMOVED, names.NAMESPACE, names.RENAME, names.PATTERN, names.CLASSES, names.TYPE, names.EXCEPTION]  # fmt: skip
    for guard in guards:
        # '<' and '>' are in no identifier, and no other character normalises into one that is.
        assert not guard.isidentifier()
        assert guard[0] == "<" and guard[-1] == ">"
    assert len(set(guards)) == len(guards)


@pytest.mark.parametrize("name", sorted(names.DEFINABLE))
def test_a_class_may_define_every_data_model_method(name: str) -> None:
    assert rule_of(f"class A:\n    def {name}(self, *a): return super().{name}(*a)") is None
    assert rule_of(f"class A:\n    {name} = None\n    if 1:\n        def {name}(self): pass") is None
    assert rule_of(f"def {name}(self): pass") == "dunder-name"


@pytest.mark.parametrize(
    ("source", "line", "column", "text"),
    [
        ("x = 1\ny = x.__globals__\n", 2, 7, "__globals__"),
        ("x.__globals__.y", 1, 3, "__globals__"),
        ("if 1:\n    π = 'é'; x.gi_frame", 2, 16, "gi_frame"),
        ("def f(a, _getattr_=1): pass", 1, 10, "_getattr_"),
        ("a = 1\n\nasync def f():\n    yield", 4, 5, "yield"),
        ("x = [1,\n  y.__x__]", 2, 5, "__x__"),
        ("x = 1\ny = (2\nz = 3", 2, 5, "y = (2"),
        ("a\r\nb.__x__\rc", 2, 3, "__x__"),
        ("x = 'a' 'b'\n\x0cy.__x__", 2, 4, "__x__"),
    ],
)
def test_a_refusal_points_at_the_place(source: str, line: int, column: int, text: str) -> None:
    with pytest.raises(CellRefused) as caught:
        compile_cell(source, **LIMITS)
    refusal = caught.value
    assert (refusal.line, refusal.column, refusal.text) == (line, column, text)
    assert f"line {line}, column {column}" in str(refusal)
    assert refusal.rule in str(refusal)
    assert refusal.message in str(refusal)


def test_a_refusal_lists_what_else_is_wrong_in_the_order_of_the_text() -> None:
    with pytest.raises(CellRefused) as caught:
        compile_cell("def f():\n    return a.__b__\n" + "x.__c__\n" * 7, **LIMITS)
    refusal = caught.value
    assert refusal.line == 2
    assert refusal.more == (
        "line 3, column 3: dunder-attribute (__c__)",
        "line 4, column 3: dunder-attribute (__c__)",
        "line 5, column 3: dunder-attribute (__c__)",
        "line 6, column 3: dunder-attribute (__c__)",
        "3 more",
    )


@pytest.mark.parametrize("source", [source for source in REFUSED if len(source) < 1000])
def test_a_refusal_is_short_and_says_what_to_do(source: str) -> None:
    with pytest.raises(CellRefused) as caught:
        compile_cell(source, **LIMITS)
    refusal = caught.value
    assert len(str(refusal)) < 2000
    assert len(refusal.text) <= 200
    assert ";" in refusal.message
    assert not refusal.message.endswith(".")


def test_a_refusal_stays_short_for_endless_source() -> None:
    name = "__" + "a" * 200_000 + "__"
    for source in (name, f"x.{name}", f"def {name}(): pass", f"import {name}", f"from x import {name}"):
        with pytest.raises(CellRefused) as caught:
            compile_cell(source, **LIMITS)
        assert len(str(caught.value)) < 1000


def test_source_size_is_counted_in_utf8_bytes() -> None:
    assert compile_cell("x = 1", source_bytes=5, ast_nodes=100)
    for source in ("x = 12", "# 🦊🦊", "# é12"):
        with pytest.raises(CellRefused) as caught:
            compile_cell(source, source_bytes=5, ast_nodes=100)
        assert caught.value.rule == "source-bytes"


@pytest.mark.parametrize(
    "source",
    ["x = [" + "1," * 200 + "]", "x = 1\n" * 200, "import " + ",".join("a" * 200), "def f():\n" + "    x\n" * 200,
     "match x:\n    case " + "|".join("1" * 200) + ": pass", "f(" + "**a," * 200 + ")", "@a\n" * 200 + "def f(): pass"],
)  # fmt: skip
def test_tree_size_is_bounded(source: str) -> None:
    assert compile_cell(source, source_bytes=10_000, ast_nodes=2_000)
    with pytest.raises(CellRefused) as caught:
        compile_cell(source, source_bytes=10_000, ast_nodes=100)
    assert caught.value.rule == "tree-size"


N = 40_000
BOMBS = {
    "parentheses": "(" * N,
    "closed": "(" * N + ")" * N,
    "brackets": "[" * N,
    "braces": "{" * N,
    "mixed": "([{" * N,
    "calls": "f(" * N,
    "negations": "-" * N + "1",
    "nots": "not " * N + "x",
    "lambdas": "lambda:" * N + "1",
    "attributes": "a" + ".b" * N,
    "private-attributes": "a" + "._b" * N,
    "stored-attributes": "a" + ".b" * N + " = 1",
    "formats": "a" + ".format" * N,
    "call-chain": "f" + "()" * N,
    "subscripts": "a" + "[0]" * N,
    "sums": "1" + "+1" * N,
    "powers": "1" + "**1" * N,
    "conditionals": "1 if 1 else " * N + "1",
    "comparisons": "a<" * N + "b",
    "assignments": "x=" * N + "1",
    "elifs": "if 1:\n pass\n" + "elif 1:\n pass\n" * (N // 4),
    "f-strings": "f'{" * 200,
    "format-specs": "'" + "{:" * N + "'.format(1)",
    "decorators": "@a\n" * N + "def f(): pass",
    "walruses": "(a:=" * N,
    "blocks": "".join(" " * i + "if 1:\n" for i in range(120)),
    "functions": "".join(" " * i + "def f():\n" for i in range(95)) + " " * 95 + "pass",
    "loops": "".join(" " * i + "for a in b:\n" for i in range(40)) + " " * 40 + "pass",
    "or-patterns": "match x:\n case " + "1|" * N + "1: pass",
    "class-patterns": "match x:\n case " + "C(" * 190 + ")" * 190 + ": pass",
    "generators": "(x " + "for x in y " * (N // 8) + ")",
    "dicts": "{x:" * 180 + "1" + "}" * 180,
    "integer": "1" * N,
    "hexadecimal": "0x" + "f" * N,
    "identifier": "a" * N,
    "names": "global " + "a," * N + "b",
    "imports": "import " + "a," * N + "b",
    "statements": "1;" * N,
    "dunders": "a.__b__\n" * (N // 2),
    "backslashes": "\\\n" * N,
    "blanks": " " * N,
    "quotes": '"""' + "a" * N,
    "stars": "*a," * N + "=b",
    "keywords": "f(" + "**a," * N + ")",
    "annotations": "x:" * N,
}


def test_no_text_breaks_the_compiler_or_takes_long() -> None:
    """In a process of its own, 1 GB and 30 seconds for all: a broken C stack would take the test run along."""
    code = (
        "import json, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (30, 30))\n"
        "from rlm_secure.guest.language import compiler\n"
        "for name, source in json.load(sys.stdin).items():\n"
        "    try:\n        compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=50_000)\n"
        "    except compiler.CellRefused as refusal:\n        assert len(str(refusal)) < 2000\n"
        "    print(name, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(BOMBS), text=True, capture_output=True, cwd=ROOT, timeout=150
    )
    assert (done.stdout.split(), done.stderr, done.returncode) == (list(BOMBS), "", 0)


def test_warnings_about_a_cell_are_silent_and_stay_so() -> None:
    said = io.StringIO()
    with warnings.catch_warnings(record=True) as heard, redirect_stderr(said):
        warnings.simplefilter("error")
        for source in ("x = '\\d'", "x = 1 is 1", "assert (1, 'x')", "x = 1\nx()", "[1](2)", "0x1for x in y"):
            compile_cell(source, **LIMITS) if "0x1" not in source else rule_of(source)
    assert (heard, said.getvalue()) == ([], "")


def test_nothing_of_this_file_is_inherited_by_a_cell() -> None:
    session = Session()
    assert session.run("def f(x: int): pass\nprint(f.__annotations__)") == "{'x': <class 'int'>}\n"
    assert session.run(
        "from __future__ import annotations, division\ndef f(x: int): pass\nprint(f.__annotations__)"
    ) == ("{'x': 'int'}\n")


def test_asserts_and_docstrings_stay() -> None:
    session = Session()
    assert session.run("def f():\n    'doc'\nprint(f.__doc__)") == "doc\n"
    assert session.outcome("assert False") == "AssertionError"


def test_no_import_instruction_is_compiled() -> None:
    code = compile_cell(
        "import json, math as m\nfrom re import match\ndef f():\n    import json\n    from a import b", **LIMITS
    )
    todo, used = [code], set()
    while todo:
        each = todo.pop()
        used.update(each.co_names)
        todo += [constant for constant in each.co_consts if isinstance(constant, types.CodeType)]
    assert {names.IMPORT, names.IMPORT_FROM} <= used
    assert not {"json", "re", "a"} & {name for name in used if name in ("re", "a")}


@pytest.mark.parametrize(
    "source",
    [
        "total += x", "d['a'] += 1", "self.n += 1", "m[1:2] *= 3", "a.b.c -= 1", "x @= y",
        "x: int = 1", "x: list[int]", "self.x: int = 1", "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x += 1",
        "match x:\n    case {'a': [1, *rest], **more}: pass\n    case Point(x=0, y=yy) | (None, yy) if yy: pass\n    case str() | int(): pass\n    case _: pass",
        "_x = 1\nself._y = _x\nself.__z = 2", "if __name__ == '__main__': pass", "print('x', end='', sep=',', file=f)",
        "super().__init__(1)", "type(e).__name__", "fn.__name__", "A.__doc__", "e.__class__.__name__",
        "a, *b = c\nf(*a, **b)\n[*a, *b]\n{**a}", "[y for x in z if (y := x)]", "try:\n    pass\nexcept:\n    pass\nelse:\n    pass\nfinally:\n    pass",
        "with a as b, c as (d, e): pass", "@a.b(1)\n@c\ndef f(): pass", "lambda x, /, y=1, *z, k, **w: 0",
        "raise ValueError('x') from e", "x = yield_ = 1\ndef g():\n    x = yield 1\n    yield from y", "del a, b[0], c.d",
        "'{}'.format(1)", "x.format(1)", "while 1:\n    break\nelse:\n    pass", "assert x, 'y'", "global_ = 1\ndef f():\n    global g",
        "f'{x!r:>{w}} {y=} {z:.2f}'", "class A(B, x=1):\n    __slots__ = ('a',)\n    __hash__ = None\n    y: int = 0",
        "x if y else z", "not a or b and c in d is not e", "x = ...", "1 if 1 else 2", "import a.b.c as d, e",
    ],
)  # fmt: skip
def test_the_language_that_models_write_is_accepted(source: str) -> None:
    assert rule_of(source) is None


def test_every_node_type_is_accepted_checked_or_unknown_to_restrictedpython() -> None:
    """RestrictedPython denies node types that it does not know; so does the table, and it knows no more."""
    from rlm_secure.guest.language import transformer

    stock = {name[6:] for name in dir(CellTransformer.__mro__[1]) if name.startswith("visit_")}
    ours = {kind.__name__ for kind in transformer._TABLE}
    added = ours - stock
    assert added == {"AnnAssign", "Match", "match_case"}
    assert all(issubclass(kind, ast.AST) for kind in transformer._TABLE)


def test_syntax_that_nobody_reviewed_is_refused() -> None:
    new = sys.version_info >= (3, 12)
    assert rule_of("type X = int") == ("unknown-syntax" if new else "syntax")
    assert rule_of("def f[T](x: T): pass") == ("type-parameters" if new else "syntax")
    assert rule_of("class A[T]: pass") == ("type-parameters" if new else "syntax")


def test_an_unknown_node_is_refused() -> None:
    screen = CellTransformer(100)
    tree = ast.parse("x = 1")
    tree.body.append(ast.Interactive(body=[]))  # type: ignore[arg-type]
    screen.screen(tree)
    assert [finding.rule for finding in screen.findings] == ["unknown-syntax"]


def test_plain_code_is_not_screened() -> None:
    space: dict[str, object] = {}
    run(compile_plain("loot = ().__class__.__base__"), space)
    assert space["loot"] is object
    with pytest.raises(CellRefused) as caught:
        compile_plain("x = ")
    assert caught.value.rule == "syntax"


def test_run_lets_everything_through() -> None:
    class Stop(BaseException):
        pass

    def stop() -> None:
        raise Stop

    with pytest.raises(Stop):
        run(compile_plain("stop()"), {"stop": stop})
    assert registry.FILENAME.startswith("<cell")


@pytest.mark.parametrize("one", ["from json import {}", "é = 1; from json import {}"])
def test_a_refusal_is_found_in_time_that_grows_as_the_cell_does(one: str) -> None:
    def refuse(source: str) -> None:
        with pytest.raises(CellRefused):
            compile_cell(source, source_bytes=1 << 24, ast_nodes=1 << 24)

    assert_linear(lambda size: one.format(", ".join(f"_a{n}_" for n in range(size))), refuse, begin=1 << 13)
