"""Objects whose every hook is the cell's own: it records what it is given, and answers what the tape says.

All of it is source of cells, compiled as a session compiles it. A cell that is refused is left out, and counted: what
nobody can write need not be called. `pick` is the one hook; `tape` decides what it answers, so that a call can be made
again, or again with one answer changed.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from functools import cache

from rlm_secure.guest.language import facades, names

from . import packages

#: Where code that a hook smuggles into generated source would end up: an audit hook looks for it.
TRIPWIRE = "TRIPWIRE"

CORE = """
tape = []
state = [0]
class Stop(Exception):
    pass
def pick(hook, given, named):
    note(hook, given, named)
    at = state[0]
    state[0] = at + 1
    if at > 60:
        raise Stop
    answers = FIT.get(hook, ANY)
    return answers[(tape[at] if at < len(tape) else 0) % len(answers)](given)
def hook(name):
    def method(*given, **named):
        return pick(name, given, named)
    return method
def poser(name):
    def method(self, *given, **named):
        return pick(name, (self, *given), named)
    return method
def generator(*given):
    yield rec
    got = yield Rec
    pick("send", (got,), {})
def free(*given, **named):
    return pick("free", given, named)
def fail(error):
    raise error
def run(function, values, named, answers):
    tape[:] = answers
    state[0] = 0
    result = function(*values, **named)
    return result
def drain(result):
    kept = []
    for item in result:
        kept.append(item)
        if len(kept) == 3:
            break
    return kept
"""

#: What hooks answer. The first of each is what makes most callers go on.
ANSWERS = """
WORDS = ("x", "", "__class__", "_x", "{0.__class__}", "x: TRIPWIRE = 0", "x\\nTRIPWIRE()", "A B", "format", "%(x)s", "%Y", "TRIPWIRE()")
ANY = (
    lambda given: rec, lambda given: Rec, lambda given: 1, lambda given: (rec, rec), lambda given: (rec, None),
    lambda given: "x", lambda given: None, lambda given: [rec], lambda given: {"x": rec}, lambda given: Bare,
    lambda given: bare, lambda given: given[-1] if given else 0, lambda given: given[0] if given else 0, lambda given: 0,
    lambda given: True, lambda given: free, lambda given: number, lambda given: (1, 2), lambda given: [("x", rec)],
    lambda given: fail(AttributeError("x")), lambda given: fail(StopIteration()), lambda given: fail(KeyError("x")),
    lambda given: fail(IndexError("x")), lambda given: fail(TypeError("x")), lambda given: fail(ValueError("x")),
    lambda given: NotImplemented, lambda given: iter((rec, Rec)), lambda given: generator(), lambda given: 2.5,
    lambda given: {}, lambda given: (), lambda given: type(given[0]) if given else 0, lambda given: WORDS[2],
    lambda given: (Rec, (), {}), lambda given: ("X", (), {}), lambda given: ({}, "x", ()), lambda given: WORDS[5],
    lambda given: int, lambda given: object, lambda given: (1, None), lambda given: [Rec], lambda given: data,
    lambda given: WORDS[6], lambda given: mapping, lambda given: [{}, {}], lambda given: [{"x": 1}],
    lambda given: Chain, lambda given: Chain.fromkeys, lambda given: Chain(), lambda given: type, lambda given: dict.update,
    lambda given: Asked, lambda given: asked,
)
INTS = (
    lambda given: 1, lambda given: 0, lambda given: 2, lambda given: -1, lambda given: 3, lambda given: True,
    lambda given: 100, lambda given: number, lambda given: rec, lambda given: fail(TypeError("x")),
)
# Always the same: CPython's own dict and OrderedDict do not survive keys whose hash changes, nor is that promised.
HASHES = (lambda given: 7,)
TEXTS = tuple((lambda word: lambda given: word)(word) for word in WORDS) + (lambda given: text, lambda given: rec)
TRUTHS = (lambda given: True, lambda given: False, lambda given: NotImplemented, lambda given: rec, lambda given: 0)
ITERATORS = (
    lambda given: iter((rec, rec)), lambda given: iter(()), lambda given: iter((Rec, Rec)), lambda given: iter((("x", rec),)),
    lambda given: iter((1, 2, 3)), lambda given: iter(("x", "y")), lambda given: generator(), lambda given: rec,
    lambda given: iter(((rec, None), (Rec, rec))), lambda given: iter((Bare,)), lambda given: iter(WORDS),
    lambda given: iter((Asked, Asked)),
)
NEXT = (
    lambda given: rec, lambda given: fail(StopIteration()), lambda given: Rec, lambda given: "x", lambda given: (rec, rec),
    lambda given: ("x", rec), lambda given: 1, lambda given: Bare,
)
LOOKUPS = (lambda given: fail(AttributeError("x")),) + ANY
FLOATS = (lambda given: 1.5, lambda given: 0.0, lambda given: rec)
EXITS = (lambda given: True, lambda given: False, lambda given: rec)
FIT = {
    "__len__": INTS, "__index__": INTS, "__int__": INTS, "__hash__": HASHES, "__length_hint__": INTS, "__sizeof__": INTS,
    "__str__": TEXTS, "__repr__": TEXTS, "__format__": TEXTS, "__bool__": TRUTHS, "__contains__": TRUTHS,
    "__eq__": TRUTHS, "__ne__": TRUTHS, "__lt__": TRUTHS, "__le__": TRUTHS, "__gt__": TRUTHS, "__ge__": TRUTHS,
    "__iter__": ITERATORS, "__reversed__": ITERATORS, "__next__": NEXT, "__getattr__": LOOKUPS, "__float__": FLOATS,
    "__complex__": FLOATS, "__exit__": EXITS, "readline": TEXTS, "read": TEXTS, "keys": ITERATORS, "items": ITERATORS,
    "values": ITERATORS, "__trunc__": INTS, "__floor__": INTS, "__ceil__": INTS, "__round__": INTS,
}
"""

_NUMBERS = names.words("__int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__ __ceil__ __abs__ __neg__ __pos__ __invert__")
_ARITHMETIC = frozenset(name for name in names.OPERATORS if name[2:-2].lstrip("ri") in "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul".split())
_COMPARISONS = names.words("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__")
_ITEMS = names.words("__len__ __iter__ __next__ __contains__ __getitem__ __setitem__ __delitem__ __missing__ __reversed__ __length_hint__")
_TEXTS = names.words("__repr__ __str__ __format__ __bytes__ __dir__ __sizeof__")
_RUNS = names.words("__call__ __enter__ __exit__")
_DESCRIPTOR = names.words("__get__ __set__ __delete__ __set_name__")
_COPIES = names.words("__copy__ __deepcopy__")
_HOOKS = _NUMBERS | _ARITHMETIC | _COMPARISONS | _ITEMS | _TEXTS | _RUNS | _COPIES
#: Dunder names that no cell may define; a slot of that name makes its instances ask `__getattr__` all the same.
POSED = (
    "__class__ __dict__ __mro_entries__ __reduce_ex__ __reduce__ __getstate__ __setstate__ __wrapped__ __code__ __globals__ "
    "__self__ __func__ __name__ __qualname__ __module__ __doc__ __bases__ __mro__ __subclasses__ __instancecheck__ "
    "__subclasscheck__ __prepare__ __origin__ __args__ __parameters__ __orig_class__ __orig_bases__ __typing_subst__ "
    "__dataclass_fields__ __dataclass_params__ __match_args__ __annotations__ __conform__ __fspath__ __buffer__ __defaults__ "
    "__kwdefaults__ __closure__ __text_signature__ __signature__ __slots__ __getnewargs__ __getnewargs_ex__ __replace__ "
    "__isabstractmethod__ __abstractmethods__ __members__ __objclass__ __type_params__ __total__ __await__ __aiter__ "
    "__anext__ __aenter__ __aexit__ __getattribute__ __del__ __post_init__ __import__ __builtins__ __typing_unpacked_tuple_args__"
).split()  # fmt: skip

#: Where library code stops, and C begins: not read for names.
_BEHIND = (
    "abc", "ast", "base64", "bisect", "calendar", "collections", "collections.abc", "contextlib", "copy", "csv", "dataclasses",
    "datetime", "decimal", "_pydecimal", "difflib", "enum", "fractions", "functools", "heapq", "html", "io", "json",
    "json.decoder", "json.encoder", "numbers", "operator", "pprint", "random", "re", "statistics", "string", "textwrap",
    "types", "typing", "urllib.parse", "uuid", "zoneinfo", "_collections_abc", "_weakrefset", "_py_abc", "reprlib",
)  # fmt: skip


@cache
def asked() -> tuple[str, ...]:
    """The public and private attributes that library code behind the facades reads by name."""
    found: set[str] = set()
    todo: list[types.CodeType] = []
    guest = [name for name in sys.modules if name.startswith("rlm_secure.guest.language.facades")]
    for title in (*_BEHIND, *guest):
        module = sys.modules.get(title)
        for value in list(vars(module).values()) if module else ():
            for each in (value, *(vars(value).values() if isinstance(value, type) else ())):
                each = getattr(each, "__func__", getattr(each, "fget", each))
                if isinstance(each, types.FunctionType) and each.__module__ == title:
                    todo.append(each.__code__)
    while todo:
        code = todo.pop()
        todo += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        found.update(const for const in code.co_consts if isinstance(const, str) and const.isidentifier() and const[0] == "_")
        found.update(step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"))
    return tuple(sorted(name for name in found if not names.is_dunder(name) and name.isidentifier() and name not in names.HOOKS))


def _class(name: str, bases: str, hooks: frozenset[str], *more: str) -> str:
    body = [f'    {each} = hook("{each}")' for each in sorted(hooks)]
    return "\n".join([f"class {name}({bases}):", *body, *(f"    {line}" for line in more)] or ["    pass"])


def _derived() -> Iterator[tuple[str, str]]:
    """A class of hooks on top of everything that can be derived from: its name, its source."""
    from rlm_secure.guest.language import classes

    bases = {"": "str int float complex bytes bytearray tuple list dict set frozenset Exception ValueError StopIteration AttributeError KeyError BaseException object"}
    bases |= classes._DERIVABLE
    for module, listed in bases.items():
        words = dir(facades.load(module)) if listed == "*" else listed.split()
        for word in words:
            title = f"On_{module.replace('.', '_')}_{word}".replace("__", "_")
            base = f"{module}.{word}" if module else word
            head = f"import {module}\n" if module else ""
            make = (
                f"instances['{title}'] = []\n"
                f"for each in ((), (1,), ('x',), ([('x', 1)],), ({{'x': 1}},), (1, 2, 3), (2000, 1, 1), ('x', 'y', 1)):\n"
                f"    try:\n        instances['{title}'].append({title}(*each))\n        break\n    except Exception:\n        continue\n"
            )
            if module == "enum":
                kinds = {"A": "A = 1\n    B = 2"}
                for kind, body in kinds.items():
                    yield f"{title}_{kind}", f"{head}class {title}({base}):\n    {body}\n" + "\n".join(
                        f'    {name} = poser("{name}")' for name in sorted(_RUNS | {"__add__", "__lt__", "__missing__"})
                    ) + f"\ninstances['{title}'] = [{title}.A]\n"
            elif word in ("NamedTuple", "TypedDict"):
                yield title, f"{head}class {title}({base}):\n    x: Rec\n    y: 'TRIPWIRE()'\ninstances['{title}'] = [{title}(x=rec, y=Rec)]\n"
            elif word == "Generic":
                yield title, f"{head}T = typing.TypeVar('T')\nclass {title}(typing.Generic[T]):\n    __getattr__ = poser('__getattr__')\ninstances['{title}'] = [{title}(), {title}[int]()]\n"
            else:
                few = _COMPARISONS | _ITEMS | _COPIES | _TEXTS if word not in ("object", "Protocol") else _COMPARISONS
                yield f"{title}_plain", f"{head}class {title}({base}):\n    pass\n{make}"
                yield title + "_hooks", f"{head}" + _class(f"{title}_hooks", base, few - {"__init__"}, "__getattr__ = poser('__getattr__')") + "\n" + make.replace(title, f"{title}_hooks")
                yield title + "_all", f"{head}" + _class(f"{title}_all", base, _HOOKS - _ITEMS, *(f"{name} = poser('{name}')" for name in ("default", "object_hook", "utcoffset", "tzname", "dst", "iterencode"))) + "\n" + make.replace(title, f"{title}_all")


def cells() -> list[str]:
    """The cells that make the recorders, in order. Any of them may be refused."""
    private = sorted(
        {
            name
            for module in list(sys.modules.values())
            if getattr(module, "__name__", "").startswith("rlm_secure.guest")
            for kind in vars(module).values()
            if isinstance(kind, type)
            for name in vars(kind).get("__slots__", ())
            if type(name) is str and name.isidentifier() and not names.is_dunder(name)
        }
    )
    asked_for = "\n".join(f'    {name} = hook("{name}")' for name in asked())
    made = [
        CORE,
        _class("Rec", "", _HOOKS, "__getattr__ = poser('__getattr__')"),
        "class Bare:\n    __getattr__ = poser('__getattr__')\n    __eq__ = poser('__eq__')\n    __hash__ = poser('__hash__')",
        _class("Number", "", _NUMBERS | _ARITHMETIC | _COMPARISONS, "as_integer_ratio = hook('as_integer_ratio')", "numerator = denominator = 1", "__getattr__ = poser('__getattr__')"),
        _class("Mapping", "", _ITEMS | frozenset({"__eq__", "__hash__", "__ror__", "__or__"}), "keys = hook('keys')", "items = hook('items')", "values = hook('values')", "get = hook('get')", "copy = hook('copy')"),
        _class("Descriptor", "", _DESCRIPTOR | {"__call__"}),
        "rec = Rec()\nbare = Bare()\nmapping = Mapping()\ndescriptor = Descriptor()\nnumber = Number()\ndata = None\ntext = 'x'\ninstances = {}",
        ANSWERS,
        f"class Asked:\n{asked_for}\n    __class_getitem__ = hook('__class_getitem__')\nasked = Asked()",
        f"class AskedAll(Rec):\n{asked_for}\naskedall = AskedAll()",
        "class Maker:\n    def __new__(cls, *given, **named):\n        return pick('__new__', (cls, *given), named) if tape else object.__new__(cls)\n    __init_subclass__ = hook('__init_subclass__')\n    __set_name__ = hook('__set_name__')",
        "class Text(str):\n    __eq__ = str.__eq__\n    __hash__ = str.__hash__\n    startswith = hook('startswith')\n    isidentifier = hook('isidentifier')\n    split = hook('split')\n    replace = hook('replace')\ntext = Text('_x')\nwall = Text('__class__')",
        "class Sub(Rec):\n    pass\nsub = Sub()",
        "Chain = dict",
        "import collections\nChain = collections.ChainMap  # a class with a metaclass of its own",
        "class Held:\n    item = Rec()\n    free = free\n    kind = Rec\n    made = Descriptor()\nheld = Held()",
        "exits = []\nclass Context:\n    __enter__ = hook('__enter__')\n    __exit__ = hook('__exit__')\ncontext_ = Context()",
        "error = ValueError(rec)\nbound = held.free\nlambda_ = lambda *given, **named: pick('free', given, named)\nmade = generator()",
        "import functools\npartial = functools.partial(free, rec)\nkey = functools.cmp_to_key(free)(rec)",
        "import operator\ngetter = operator.attrgetter('public')\nkaller = operator.methodcaller('public', rec)",
        "import collections\nPair = collections.namedtuple('Pair', 'x y')\npair = Pair(rec, Rec)",
        "import types\nproxy = types.MappingProxyType(mapping)\nproxyrec = types.MappingProxyType(rec)\nspace_ = types.SimpleNamespace(x=rec, _fields=('x',))",
        "import contextlib\n@contextlib.contextmanager\ndef manager(*given):\n    got = yield pick('manager', given, {})\n    pick('manager', (got,), {})\nmanaged = manager()",
        "import dataclasses\n@dataclasses.dataclass\nclass Data:\n    x: object = 1\n    _y: object = 2\ndata = Data(rec, Rec)\n@dataclasses.dataclass(frozen=True, order=True)\nclass Frozen:\n    x: object = 1\nfrozen = Frozen(rec)\nfield = dataclasses.field(default=rec, metadata={'x': rec})",
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = Rec\nred = Color.RED",
        "import abc\nclass Abstract(abc.ABC):\n    @abc.abstractmethod\n    def x(self): pass",
        "import typing\nTypes = [typing.List[int], typing.Optional[int], typing.TypeVar('T'), typing.Callable[[int], int]]",
        "import csv, io\nlines = io.StringIO('a,b')",
    ]  # fmt: skip
    made += packages.cells()
    made += [source for _, source in _derived()]
    made += [
        f"class Slot{name}:\n    __slots__ = ('{name}', 'x')\n    __getattr__ = poser('__getattr__')\ninstances['Slot{name}'] = [Slot{name}()]"
        for name in POSED
    ]
    made.append(
        "class Slots:\n    __slots__ = " + repr(tuple(name for name in POSED if name not in ("__dict__", "__slots__", "__module__", "__qualname__", "__doc__"))) +
        "\n    __getattr__ = poser('__getattr__')\nslots = Slots()"
    )  # fmt: skip
    for name in private:
        made.append(f"import dataclasses\n@dataclasses.dataclass\nclass Data{name}:\n    {name}: object = None\ninstances['Data{name}'] = [Data{name}()]")
    return made


_CALL = "def op_{name}(a, b=None, c=None):\n{body}\n"
_PAIRS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "truediv": "a / b", "floordiv": "a // b", "mod": "a % b", "pow": "a ** b",
    "lshift": "a << b", "and_": "a & b", "or_": "a | b", "xor": "a ^ b", "matmul": "a @ b", "eq": "a == b", "lt": "a < b",
    "ge": "a >= b", "in_": "a in b", "item": "a[b]", "items": "a[b, c]", "slice": "a[b:c]", "format": "f'{a:{b}}'",
    "repr": "f'{a!r}'", "divmod": "divmod(a, b)", "neg": "-a", "invert": "~a", "not_": "not a", "star": "[*a]",
    "stars": "free(*a)", "names": "free(**a)", "merge": "{**a, **b}", "union": "{*a}", "call": "a(b)", "call2": "a(b, c)",
    "key": "sorted(a, key=b)", "callkw": "a(b, key=c)", "getattr": "getattr(a, b)", "zip": "list(zip(a, b))[:3]",
    "super": "super(a, b)", "isinstance": "isinstance(a, b)", "issubclass": "issubclass(a, b)", "type": "type(a)",
    "vars": "vars(a)", "dir": "dir(a)", "format2": "'{0} {0.x} {0[0]} {1!r:>{2}}'.format(a, b, c)", "mod2": "'%s %r' % (a, b)",
    "annotations": "a.__annotations__", "dictof": "a.__dict__", "classof": "a.__class__", "members": "a.__members__",
    "namesof": "(a.__name__, a.__qualname__, a.__module__, a.__doc__)", "privates": "(a._fields, a._make)", "make": "a._make(b)",
    "replace": "a._replace(x=b)", "new": "a.__new__(b)", "init": "a.__init__(b)", "newof": "super(a, b).__new__(c)",
    "initof": "super(a, b).__init__(c)", "setof": "a.__setattr__(b, c)", "comp": "[x for x in a if x == b]",
}  # fmt: skip
_BLOCKS = {
    "for": "for x in a:\n    return x",
    "with": "with a as x:\n    fail(ValueError(b))",
    "with_": "with a as x, b as y:\n    return (x, y)",
    "unpack": "x, *y = a\nreturn (x, y)",
    "unpack2": "(x, y) = a\nreturn (x, y)",
    "setitem": "a[b] = c\nreturn a",
    "delitem": "del a[b]",
    "iadd": "a += b\nreturn a",
    "ior": "a |= b\nreturn a",
    "setattr": "setattr(a, 'x', b)\nreturn a.x",
    "setname": "a.__name__ = b\nreturn a",
    "raise": "raise a from b",
    "except": "try:\n    fail(a)\nexcept b as e:\n    return (e, e.args)",
    "caught": "try:\n    a(b)\nexcept Exception as e:\n    return (e, e.args, [getattr(e, n, 0) for n in ('name', 'obj', 'value', 'pattern', 'code', 'object', 'add_note', 'errno', 'filename')])",
    "match0": "match a:\n    case b():\n        return b",
    "match1": "match a:\n    case b(x):\n        return x",
    "match2": "match a:\n    case b(x, y):\n        return (x, y)",
    "matchkw": "match a:\n    case b(x=x):\n        return x",
    "matchmap": "match a:\n    case {'x': x, **rest}:\n        return (x, rest)",
    "matchseq": "match a:\n    case [x, *rest]:\n        return (x, rest)",
    "matchclass": "match a:\n    case object(x=x):\n        return x",
    "class1": "class X(a):\n    pass\nreturn X",
    "class2": "class X(a, b):\n    pass\nreturn X",
    "class3": "class X(a, b, c):\n    pass\nreturn X",
    "classkw": "class X(a, x=b):\n    pass\nreturn X",
    "classkws": "class X(a, **b):\n    pass\nreturn X",
    "classstar": "class X(*a, **b):\n    pass\nreturn X",
    "classann": "class X(a):\n    x: b = c\nreturn X",
    "classenum": "class X(a):\n    A = b\n    B = c\nreturn (X, X.A)",
    "classmade": "class X(a):\n    x = b\n    def __new__(cls, *values, **named):\n        return b\nreturn X(c)",
    "classmade2": "class X(a):\n    x = b\n    def __new__(cls, *values, **named):\n        return b\n    __init__ = c\nreturn X()",
    "classinit": "class X(a):\n    def __init__(self, *values, **named):\n        super().__init__(*values)\n        self.x = b\nreturn X(c)",
    "classget": "class X:\n    x = a\nreturn (X.x, X().x)",
    "classset": "class X:\n    x = a\ny = X()\ny.x = b\ndel y.x",
    "enumnew": "import enum\nclass X(a, enum.Enum):\n    def __new__(cls, *values):\n        return b\n    A = c\nreturn X",
    "enummixed": "import enum\nclass X(a, enum.Enum):\n    A = b\n    B = c\nreturn (X, X.A.value)",
    "enumcall": "import enum\nreturn enum.Enum(a, b)",
    "enuminit": "import enum\nclass X(enum.Enum):\n    A = b\n    def __init__(self, *values):\n        pick('init', values, {})\n    def _generate_next_value_(*values):\n        return pick('next', values, {})\n    @classmethod\n    def _missing_(cls, value):\n        return pick('missing', (value,), {})\nreturn X(c)",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass X(a):\n    x: b = c\nreturn X()",
    "dataclass2": "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass X(a):\n    x: b = c\n    def __post_init__(self, *values):\n        pick('post', values, {})\nreturn X()",
    "dataclass3": "import dataclasses\nclass X:\n    __slots__ = ('__dict__',)\n    x = b\nX.__annotations__[c] = b\nreturn dataclasses.dataclass(X)",
    "datafields": "import dataclasses\nreturn dataclasses.make_dataclass('X', [(a, b)], bases=c)",
    "dataversus": "import dataclasses\nx = dataclasses.replace(a, x=b)\nreturn x",
    "namedtuple": "import typing\nclass X(typing.NamedTuple):\n    x: a = b\nreturn X(c)",
    "typeddict": "import typing\nclass X(typing.TypedDict):\n    x: a\nreturn X",
    "protocol": "import typing\n@typing.runtime_checkable\nclass X(typing.Protocol):\n    x: int = 1\n    def __add__(self, other): pass\nreturn isinstance(a, X)",
    "abstract": "import abc\nclass X(a):\n    @abc.abstractmethod\n    def x(self): pass\nreturn X.register(b)",
    "decorate": "@a\ndef f(x=b):\n    return c\nreturn f",
    "decorateclass": "@a\nclass X:\n    x: b = c\nreturn X",
    "decoratemethod": "class X:\n    @a\n    def x(self, *values):\n        return pick('free', values, {})\nreturn (X.x, X().x)",
    "property": "class X:\n    x = property(a, b, c)\ny = X()\nz = y.x\ny.x = z\nreturn z",
    "cached": "import functools\nclass X:\n    x = functools.cached_property(a)\ny = X()\nreturn y.x",
    "send": "g = generator()\nnext(g)\nnext(g)\ng.send(a)",
    "throw": "g = generator()\nnext(g)\ng.throw(a)",
    "yieldfrom": "def g():\n    x = yield from a\n    pick('from', (x,), {})\nh = g()\nnext(h)\nh.send(b)\nreturn h.throw(c)",
    "delattr": "delattr(a, 'x')",
    "assign": "for a.x in [b]:\n    return a.x",
    "superinit": "class X(a):\n    def take(self, name):\n        return getattr(super(), name)\nreturn X().take(b)",
    "superclass": "class X(a):\n    @classmethod\n    def take(cls, name):\n        return getattr(super(), name)\nreturn X.take(b)",
    "superstore": "class X(a):\n    def take(self):\n        super().__setattr__(b, c)\nreturn X().take()",
    "genericclass": "x = a[b]\nreturn (x, x(c))",
    "print": "print(a, b, file=c, sep='')",
    "match_args": "class X(a):\n    __match_args__ = b\nmatch c:\n    case X(x):\n        return x",
    "slots": "class X(a):\n    __slots__ = b\nreturn X()",
}
#: Names that a class body may bind to anything.
_BOUND = sorted(names.CLASS_LEVEL - {"__slots__", "__match_args__"})


def forms() -> dict[str, tuple[str, int]]:
    """Every operator and statement that calls a hook, as a function of one to three values: name -> source, arity."""
    found = {}
    for name, expression in _PAIRS.items():
        found[f"op_{name}"] = f"    return {expression}", expression
    for name, block in _BLOCKS.items():
        body = "\n".join(f"    {line}" for line in block.split("\n"))
        found[f"op_{name}"] = body, block
    for name in _BOUND:
        body = f"    class X(a):\n        {name} = b\n    x = X()\n    pick('bound', (X, x), {{}})\n    return (X, x)"
        found[f"op_class{name}"] = body, "a b"
    made = {}
    for name, (body, text) in found.items():
        words = set(names.words("".join(char if char.isalnum() or char == "_" else " " for char in text)))
        arity = 3 if "c" in words else 2 if "b" in words else 1
        made[name] = (f"def {name}(a, b=None, c=None):\n{body}\n", arity)
    return made
