"""The builtins that take the name of an attribute, or list names, called as objects: the compiler inlines plain calls."""

from __future__ import annotations

import json
import types

import pytest

from rlm_secure.guest.language import guards, names
from rlm_secure.guest.language.violations import FileRefused, RuleViolation
from rlm_secure.guest.session.store import Store

from .cells import Session, plain

#: Each prints what plain Python prints.
HONEST = {
    "getattr": """
g = getattr
class Text(str):
    pass
class A:
    x, _y = 1, 2
a = A()
for _ in range(2):  # the second time, the name was asked before
    print(g(a, 'x'), g(a, 'x', 5), g(a, 'z', 5), g(a, '_y'), g(a, '_z', None), g(a, Text('x')), g(a, Text('_y'), 3))
for rest in ((), (7,), (7, 8), (7, 8, 9)):
    for name in ('x', '_y', 'unknown', '_unknown'):
        try:
            print(g(a, name, *rest))
        except (TypeError, AttributeError) as error:
            print(type(error).__name__, str(error) if rest else '')
try:
    g(lambda: 0, '__code__', 7, 8)
except TypeError as error:
    print(error)
""",
    "hasattr": """
h = hasattr
class Text(str):
    pass
class A:
    x, _y = 1, 2
    def f(self): pass
def f(): pass
a = A()
for _ in range(2):
    for value in (a, A, f, 'text', [1], ValueError('x'), len, A.f, a.f, None):
        names = ('x', '_y', 'z', '_z', '__len__', '__class__', '__doc__', '__add__', 'append', '__nothing__', Text('x'), Text('_y'))
        print([h(value, name) for name in names])
print(h(a, '__dict__'), h(f, '__code__'), h(f, '__globals__'), h(len, '__self__'), h(A, '__mro__'), h(a, '__mro__'))
def generator(): yield
print(h(generator(), 'gi_frame'), h(generator(), 'send'))
print(h(ValueError('x'), '__cause__'), h('x', '__cause__'), h(f, '__wrapped__'), h(f, '__defaults__'))
""",
    "setattr and delattr": """
s, d, g = setattr, delattr, getattr
class Text(str):
    pass
class A:
    pass
a = A()
for _ in range(2):
    s(a, 'x', 1); s(a, '_y', 2); s(A, 'z', 3); s(a, Text('t'), 4)
    print(vars(a), A.z, a.z, g(a, 'x'))
    d(a, 'x'); d(a, Text('_y')); d(A, 'z'); d(a, 't')
    print(vars(a), hasattr(a, 'z'))
def f(): pass
s(f, 'note', 1)
print(f.note)
""",
    "names": """
print([(each.__name__, each.__qualname__) for each in (getattr, hasattr, setattr, delattr, globals, locals, vars, dir, print)])
x = 1
print([name in found for found in (globals(), locals(), vars(), dir()) for name in ('x', '__name__')])
def f(y):
    z = 2
    return locals(), vars(), dir()
print(f(1))
class A:
    b = 1
    print('b' in locals(), 'b' in dir(), 'x' in locals(), 'x' in globals())
""",
    "another globals": """
d = {}
globals = lambda: d
globals()['x'] = 1
globals()['x'] += 1
print(d)
""",
    "modules once": """
import html, concurrent
from html.parser import HTMLParser
from concurrent.futures import ThreadPoolExecutor
print(html.parser.HTMLParser is HTMLParser, concurrent.futures.ThreadPoolExecutor is ThreadPoolExecutor)
""",
    "print to something": """
import contextlib, io
class Kept:
    def __init__(self):
        self.texts = []
    def write(self, text):
        self.texts.append(text)
    def flush(self):
        self.texts.append('flushed')
kept = Kept()
print('a', 'b', sep='-', end='.', file=kept)
print('c', file=kept, flush=True)
print(''.join(kept.texts))
with contextlib.redirect_stdout(io.StringIO()) as out:
    print('inside')
    print('too', file=None)
with contextlib.redirect_stderr(kept):
    print('not there', kept.texts.count('not there'))
print(repr(out.getvalue()))
""",
}


@pytest.mark.parametrize("cell", HONEST.values(), ids=HONEST)
def test_they_do_what_plain_python_does(cell: str) -> None:
    assert Session().run(cell) == plain(cell)[0]


def test_print_refuses_other_keywords_by_its_own_name() -> None:
    with pytest.raises(TypeError, match=r"^print\(\) got an unexpected keyword argument 'values'$"):
        Session().run("print(1, values=2)")


@pytest.mark.parametrize("builtin", ["getattr", "hasattr", "setattr", "delattr"])
@pytest.mark.parametrize("name", ["[]", "1", "b'x'", "None"])
def test_a_name_is_text(builtin: str, name: str) -> None:
    value = ", 1" if builtin == "setattr" else ""
    with pytest.raises(TypeError, match="^attribute name must be string, not '"):
        Session().run(f"class A:\n    x = 1\nf = {builtin}\nf(A(), {name}{value})")


#: Text that says of itself that it is another text, which was asked before and needs no guard.
LIAR = """
class Liar(str):
    asked = 0
    def __hash__(self):
        Liar.asked += 1
        return hash('x') if Liar.asked == 1 else super().__hash__()
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    def startswith(self, *values):
        return False
    def endswith(self, *values):
        return False
class A:
    def __init__(self):
        self.x = 1
class B(A):
    pass
def f(): pass
a, g, h, s, d = A(), getattr, hasattr, setattr, delattr
g(a, 'x')
"""


@pytest.mark.attack("language")
@pytest.mark.parametrize(
    ("attack", "rule"),
    [
        ("loot = g(f, Liar('__globals__'))", "dunder-attribute"),
        ("loot = g(f, Liar('__code__'))", "dunder-attribute"),
        ("s(a, Liar('__class__'), B)\nloot = type(a) is B", "attribute-store"),
        ("d(a, Liar('__dict__'))\nloot = not vars(a)", "attribute-store"),
        ("import json\ns(json, 'x', 1)\nloot = json.x", "attribute-store"),
        ("import pprint\nkind = pprint.PrettyPrinter\ns(kind, 'x', 1)\nloot = kind.x", "attribute-store"),
        ("import json\nd(json, 'dumps')\nloot = True", "attribute-store"),
    ],
)
def test_no_name_that_lies_and_no_name_that_was_asked_before_is_a_way_around(attack: str, rule: str) -> None:
    session = Session()
    session.run(LIAR)
    assert session.outcome(attack) == rule
    assert "loot" not in session.space
    assert not hasattr(json, "x") and hasattr(json, "dumps")


#: What would let it through: a look at the name, and none at its type.
CONTROL = """
askable = {'x'}
g = lambda value, name: getattr(value, name) if name in askable else None
s = lambda value, name, to: setattr(value, name, to) if name in askable else None
"""


@pytest.mark.attack("language")
@pytest.mark.parametrize("attack", ["loot = g(f, Liar('__globals__'))", "s(a, Liar('__class__'), B)\nloot = type(a) is B"])
def test_a_name_that_lies_wins_where_its_type_does_not_count(attack: str) -> None:
    assert plain(LIAR + CONTROL + attack)[1]["loot"]


@pytest.mark.parametrize(
    "question",
    ["h(json, '__dict__')", "h(json.dumps, '__defaults__')", "h(pprint.PrettyPrinter(), '_stream')", "h(a, Liar('_z'))", "h(json, '__wrapped__')"],
)
def test_what_cannot_be_read_is_not_there(question: str) -> None:
    assert Session().run(f"import json, pprint\n{LIAR}\nprint({question})") == "False\n"


@pytest.mark.attack("language")
@pytest.mark.parametrize("name", ["locals", "vars", "dir"])
def test_variables_of_other_code_are_not_listed(name: str) -> None:
    one, two = Session(), Session()
    one.run(f"secret = 1\ngiven = {name}")
    two.space["given"] = one.space["given"]
    assert two.outcome("given()") == "removed-builtin"
    elsewhere = compile(f"{name}()", "<elsewhere>", "eval")
    with pytest.raises(RuleViolation, match="the variables of other code cannot be listed"):
        eval(elsewhere, one.space)
    assert "secret" in eval(compile(f"{name}()", "<cell>", "eval"), one.space)  # the control


@pytest.mark.attack("language")
@pytest.mark.parametrize("read", ["value.__doc__", "(lambda: value.__doc__)()", "f(value)"])
def test_what_is_read_as_text_is_text(read: str) -> None:
    session = Session()
    session.run("class A:\n    __doc__ = [1]\ndef f(x):\n    return x.__doc__\nvalue = A()")
    assert session.outcome(read) == "dunder-attribute"
    session.run("class Text(str):\n    pass\nclass A:\n    __doc__ = Text('t')\nvalue = A()")
    assert session.run(f"found = {read}\nprint(found, type(found))") == "t <class 'str'>\n"


def test_a_class_whose_metaclass_nobody_reviewed_stands_in_no_pattern() -> None:
    session = Session()
    session.space["Kind"] = types.new_class("Kind", (), {"metaclass": type("Meta", (type,), {})})
    assert session.outcome("match 1:\n    case Kind(x):\n        pass") == "metaclass"


def test_the_builtins_that_leave_have_the_names_of_one() -> None:
    assert Session().run("print(exit.__name__, exit.__qualname__)") == "exit exit\n"


def test_where_there_are_files_the_refusal_of_open_says_so() -> None:
    session = Session()
    for name, there in (("open", False), ("open", True), ("input", True)):
        if there:
            guards.has_files(session.space)
        with pytest.raises(RuleViolation) as refused:
            session.run(f"{name}('x')")
        assert isinstance(refused.value, FileRefused) is (name == "open")
        assert ("use files.open(name, mode)" in str(refused.value)) is (name == "open" and there)


def test_the_object_files_is_made_of_the_functions_of_a_store() -> None:
    store = Store(2, 1000)
    printed: list[object] = []
    files = guards.files(store.functions(), lambda *values, **options: printed.extend(values))
    with files.open("a.txt", "w") as file:
        print("text", file=file)
    assert store.part("a.txt", 0, 100) == b"text\n" and printed == []


def test_a_pattern_reads_what_has_a_guard_from_an_object_that_holds_it() -> None:
    held = vars(Session().space["__builtins__"])[names.PATTERN_VALUE]([1])
    assert vars(held) == {"value": [1]}
