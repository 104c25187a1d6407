"""Language-level attacks: each tries to bind `loot` to something that no cell may hold.

Every one of them wins as plain Python (test_guards.py runs that control), so that a refusal means something. Grouped
by the construct that a cell may use although RestrictedPython refuses it, or that a guard was elided for.
"""

from __future__ import annotations

#: Names in attributes, in every place of the grammar that reads one.
ATTRIBUTES = {
    "function-globals": "def f(): pass\nloot = f.__globals__",
    "function-builtins": "def f(): pass\nloot = f.__builtins__",
    "function-code": "loot = (lambda: 0).__code__",
    "closure-cell": "def f(x):\n    return lambda: x\nloot = f(1).__closure__[0]",
    "subclasses": "loot = ().__class__.__base__.__subclasses__()",
    "subclasses-from-object": "loot = object.__subclasses__()",
    "subclasses-bound": "loot = object.__subclasses__",
    "class-of-class": "loot = int.__class__",
    "class-of-own-class": "class A: pass\nloot = A.__class__",
    "class-twice": "class A: pass\nloot = A().__class__.__class__",
    "mro": "loot = int.mro()[-1].__class__",
    "mro-list": "class E(Exception): pass\nloot = [c for c in E.mro() if c.__name__ == 'BaseException'][0].__class__",
    "generator-frame": "g = (x for x in [1])\nloot = g.gi_frame",
    "generator-code": "g = (x for x in [1])\nloot = g.gi_code",
    "frame-globals": "def g():\n    yield h.gi_frame.f_back\nh = g()\nloot = next(h).f_globals",
    "traceback-frame": "try:\n    1 / 0\nexcept Exception as e:\n    loot = e.__traceback__.tb_frame",
    "exit-traceback": (
        "class C:\n    def __enter__(self): return self\n"
        "    def __exit__(self, kind, error, tb):\n        self.tb = tb\n        return True\n"
        "c = C()\nwith c: 1 / 0\nloot = c.tb.tb_frame"
    ),
    "method-self": "loot = print.__self__",
    "builtin-self-of-own-method": "loot = [].append.__self__.__class__.__class__",
    "function-dict": "import sys\ndef f(): pass\nf.__dict__['loot'] = f\nloot = f.__dict__['loot'].__globals__",
    "class-dict": "class A: pass\nloot = A.__dict__",
    "class-dict-vars": "class A: pass\nloot = vars(A)",
    "property-code": "class A:\n    @property\n    def x(self): pass\nloot = A.x.fget.__code__",
    "staticmethod-function": "loot = staticmethod(lambda: 0).__func__.__code__",
    "bound-function": "class A:\n    def f(self): pass\nloot = A().f.__func__.__globals__",
    "context-chain": (
        "try:\n    try:\n        1 / 0\n    except Exception:\n        [][1]\n"
        "except Exception as e:\n    loot = e.__context__.__traceback__.tb_frame"
    ),
    "attribute-error-obj": (
        "import json\ntry:\n    json.nothing_like_this\nexcept AttributeError as e:\n    loot = e.obj"
    ),
    "attribute-error-obj-getattr": (
        "import json\ntry:\n    json.nothing_like_this\nexcept AttributeError as e:\n    loot = getattr(e, 'obj')"
    ),
    "attribute-error-obj-super": (
        "class E(AttributeError):\n    def take(self):\n        return super().obj\n"
        "e = E(name='x', obj=(lambda: 0).__code__)\nloot = e.take()"
    ),
    "in-delete": "class A:\n    def __delattr__(self, name):\n        self.seen = name\na = A()\ndel a.__loot__\nloot = 'won'",
    "in-for-target": "class A: pass\na = A()\nfor a.__class__ in [type('B', (), {})]: pass\nloot = 'won'",
    "in-with-target": (
        "class A:\n    def __enter__(self): return type('B', (A,), {})\n    def __exit__(self, *a): pass\n"
        "a = A()\nwith a as a.__class__: pass\nloot = 'won'"
    ),
    "in-comprehension-target": "class A: pass\na = A()\n[0 for a.__class__ in [type('B', (), {})]]\nloot = 'won'",
    "in-starred-target": "class A: pass\na = A()\nx, *a.__doc_ = 1, 2\nloot = (lambda: 0).__code__",
    "in-augmented": "class A: pass\nA.__qualname__ += 'x'\nloot = A.__dict__",
    "in-annotation-target": "class A: pass\nA.__module__: str = 'sys'\nloot = 'won'",
    "in-default": "def f(x=(lambda: 0).__globals__): return x\nloot = f()",
    "in-annotation": "def f(x: (lambda: 0).__globals__): pass\nloot = f.__annotations__['x']",
    "in-decorator": "def keep(x):\n    global loot\n    loot = x\n    return lambda f: f\n@keep((lambda: 0).__code__)\ndef f(): pass",
    "in-f-string-spec": "class A:\n    def __format__(self, spec): return spec\nloot = 'won' if f'{A():{(lambda: 0).__code__}}' else 0",
    "in-lambda": "loot = (lambda f: f.__code__)(lambda: 0)",
    "in-class-keyword": (
        "class B:\n    def __init_subclass__(cls, x):\n        cls.x = x\n"
        "class A(B, x=(lambda: 0).__code__): pass\nloot = A.x"
    ),
    "in-slice": "class A:\n    def __getitem__(self, key): return key\nloot = A()[(lambda: 0).__code__]",
    "in-await": "async def f():\n    global loot\n    loot = (lambda: 0).__code__\n    await f\nc = f()\ntry: c.send(None)\nexcept TypeError: pass",
    "in-match-subject": "match (lambda: 0).__code__:\n    case x:\n        loot = x",
    "in-match-guard": "match 1:\n    case 1 if (loot := (lambda: 0).__code__):\n        pass",
    "in-global-statement": "def f():\n    global loot\n    loot = f.__code__\nf()",
    "in-walrus": "[loot := (lambda: 0).__code__]",
    "fullwidth-dunder": "def f(): pass\nloot = f.__ｇｌｏｂａｌｓ__",
    "math-alphabet-dunder": "def f(): pass\nloot = f.__𝐠𝐥𝐨𝐛𝐚𝐥𝐬__",
    "fullwidth-frame": "g = (x for x in [1])\nloot = g.gi_ｆrame",
    "mangled": "class A:\n    _A__x = (lambda: 0).__code__\n    def get(self): return self.__x\nloot = A().get()",
}

#: Attributes by string.
STRINGS = {
    "getattr": "def f(): pass\nloot = getattr(f, '__globals__')",
    "getattr-default": "def f(): pass\nloot = getattr(f, '__globals__', None)",
    "getattr-str-subclass": (
        "class S(str):\n    def startswith(self, *a): return False\n    def endswith(self, *a): return False\n"
        "    def __getitem__(self, i): return 'a'\n    def isidentifier(self): return True\n"
        "def f(): pass\nloot = getattr(f, S('__globals__'))"
    ),
    "getattr-in-map": "def f(): pass\nloot = list(map(getattr, [f], ['__globals__']))[0]",
    "getattr-in-reduce": (
        "import functools\nloot = functools.reduce(getattr, ['__class__', '__base__', '__subclasses__'], ())()"
    ),
    "getattr-partial": "import functools\ndef f(): pass\nloot = functools.partial(getattr, f)('__code__')",
    "getattr-gi-frame": "g = (x for x in [1])\nloot = getattr(g, 'gi_frame')",
    "getattr-mro": "loot = getattr(int, 'mro')()[-1].__class__",
    "getattr-class": "loot = getattr(getattr(1, '__class__'), '__class__')",
    "attrgetter": "import operator\ndef f(): pass\nloot = operator.attrgetter('__globals__')(f)",
    "attrgetter-dotted": "import operator\nloot = operator.attrgetter('__class__.__class__')(1)",
    "methodcaller": "import operator\nloot = operator.methodcaller('__subclasses__')(object)",
    "methodcaller-format": "import operator\nloot = 'won' if 'globals' in dir() or operator.methodcaller('format', print)('{0.__self__}') else 0",
    "setattr-class": "class A: pass\na = A()\nsetattr(a, '__class__', type('B', (A,), {}))\nloot = 'won'",
    "setattr-code": "def f(): pass\nsetattr(f, '__code__', (lambda: 'won').__code__)\nloot = f()",
    "setattr-defaults": "def f(x): return x\nsetattr(f, '__defaults__', ('won',))\nloot = f()",
    "object-setattr-class": "class A: pass\na = A()\nobject.__setattr__(a, '__class__', type('B', (A,), {}))\nloot = 'won'",
    "super-setattr-class": (
        "class B: pass\nclass A:\n    def go(self):\n        super().__setattr__('__class__', C)\n"
        "class C(A): pass\na = A()\na.go()\nloot = 'won' if type(a) is C else 0"
    ),
    "own-setattr-by-name": "class A: pass\nclass C(A): pass\na = A()\na.__setattr__('__class__', C)\nloot = 'won' if type(a) is C else 0",
    "super-getattribute": "class A:\n    def go(self): return super().__getattribute__('__class__').__class__\nloot = A().go()",
    "object-getattribute": "def f(): pass\nloot = object.__getattribute__(f, '__globals__')",
    "type-getattribute": "loot = type.__getattribute__(int, '__class__')",
    "vars-of-function": "def f(): pass\nf.x = f\nloot = vars(f)['x'].__globals__",
    "vars-of-module": "import json\nloot = vars(json)",
    "vars-of-nothing": "loot = vars()",
    "dir-then-getattr": "def f(): pass\nloot = getattr(f, [n for n in dir(f) if 'globals' in n][0])",
    "dataclass-field-name": (
        "import dataclasses\nM = dataclasses.make_dataclass('M', ['__class__'])\nloot = 'won' if '__class__' in M.__match_args__ else 0"
    ),
}

#: Format strings.
FORMATS = {
    "literal": "def f(): pass\nloot = 'won' if 'builtins' in '{0.__globals__}'.format(f) else 0",
    "variable": "def f(): pass\nt = '{0.__globals__}'\nloot = 'won' if 'builtins' in t.format(f) else 0",
    "keyword": "def f(): pass\nloot = 'won' if 'builtins' in '{f.__globals__}'.format(f=f) else 0",
    "format-map": "def f(): pass\nloot = 'won' if 'builtins' in '{f.__globals__}'.format_map({'f': f}) else 0",
    "class-call": "def f(): pass\nloot = 'won' if 'builtins' in str.format('{0.__globals__}', f) else 0",
    "class-call-map": "def f(): pass\nloot = 'won' if 'builtins' in str.format_map('{f.__globals__}', {'f': f}) else 0",
    "getattr": "def f(): pass\nloot = 'won' if 'builtins' in getattr('{0.__globals__}', 'format')(f) else 0",
    "getattr-class": "def f(): pass\nloot = 'won' if 'builtins' in getattr(str, 'format')('{0.__globals__}', f) else 0",
    "subclass": "class S(str): pass\ndef f(): pass\nloot = 'won' if 'builtins' in S('{0.__globals__}').format(f) else 0",
    "subclass-unbound": "class S(str): pass\ndef f(): pass\nloot = 'won' if 'builtins' in S.format('{0.__globals__}', f) else 0",
    "subclass-lying": (
        "class S(str):\n    def __str__(self): return 'x'\n    def __iter__(self): return iter('')\n"
        "def f(): pass\nloot = 'won' if 'builtins' in S('{0.__globals__}').format(f) else 0"
    ),
    "super": (
        "class S(str):\n    def go(self, *a): return super().format(*a)\n"
        "def f(): pass\nloot = 'won' if 'builtins' in S('{0.__globals__}').go(f) else 0"
    ),
    "super-two-arguments": (
        "class S(str): pass\ns = S('{0.__globals__}')\ndef f(): pass\n"
        "loot = 'won' if 'builtins' in super(S, s).format(f) else 0"
    ),
    "nested-spec": (
        "class A:\n    def __format__(self, spec): return spec\ndef f(): pass\n"
        "loot = 'won' if 'builtins' in '{0:{1.__globals__}}'.format(A(), f) else 0"
    ),
    "indexed-then-attribute": "def f(): pass\nloot = 'won' if 'builtins' in '{0[0].__globals__}'.format([f]) else 0",
    "deep-attribute": "class A: pass\nA.f = staticmethod(lambda: 0)\nloot = 'won' if 'builtins' in '{0.f.__globals__}'.format(A) else 0",
    "generator-frame": "g = (x for x in [1])\nloot = 'won' if 'frame' in '{0.gi_frame}'.format(g) else 0",
    "mapped": "def f(): pass\nloot = 'won' if 'builtins' in list(map('{0.__globals__}'.format, [f]))[0] else 0",
    "pattern-attribute": "match '{0.__self__}':\n    case str(format=go):\n        loot = 'won' if go(print) else 0",
    "user-string": "import collections\ndef f(): pass\nloot = 'won' if 'builtins' in collections.UserString('{0.__globals__}').format(f) else 0",
    "formatter": "import string\ndef f(): pass\nloot = 'won' if 'builtins' in string.Formatter().format('{0.__globals__}', f) else 0",
    "private": "class A: pass\nimport pprint\nloot = 'won' if '{0._stream}'.format(pprint.PrettyPrinter()) else 0",
    "attribute-error-obj": "import json\ntry:\n    json.nothing\nexcept AttributeError as e:\n    loot = 'won' if '{0.obj}'.format(e) else 0",
}

#: Match statements: class patterns read attributes by name, and by the class's own list.
MATCHES = {
    "keyword": "def f(): pass\nmatch f:\n    case object(__globals__=loot): pass",
    "keyword-frame": "g = (x for x in [1])\nmatch g:\n    case object(gi_frame=loot): pass",
    "keyword-obj": "import json\ntry:\n    json.nothing\nexcept AttributeError as e:\n    match e:\n        case AttributeError(obj=loot): pass",
    "keyword-fullwidth": "def f(): pass\nmatch f:\n    case object(__ｃｏｄｅ__=loot): pass",
    "keyword-nested": "def f(): pass\nmatch [(1, f)]:\n    case [(1, object(__code__=loot))]: pass",
    "keyword-in-or": "def f(): pass\nmatch f:\n    case int() | object(__code__=_): \n        loot = 'won'",
    "keyword-in-mapping": "def f(): pass\nmatch {'f': f}:\n    case {'f': object(__code__=loot)}: pass",
    "match-args": "class M:\n    __match_args__ = ('__class__',)\nmatch M():\n    case M(x):\n        match x:\n            case object(__class__=loot): pass",
    "match-args-registered": (
        "import abc\nclass M(abc.ABC):\n    __match_args__ = ('__globals__',)\ndef f(): pass\n"
        "M.register(type(f))\nmatch f:\n    case M(loot): pass"
    ),
    "match-args-registered-frame": (
        "import abc\nclass M(abc.ABC):\n    __match_args__ = ('gi_frame',)\ng = (x for x in [1])\n"
        "M.register(type(g))\nmatch g:\n    case M(loot): pass"
    ),
    "match-args-dataclass-frame": (
        "import abc, dataclasses\n@dataclasses.dataclass\nclass M(abc.ABC):\n    gi_frame: int\ng = (x for x in [1])\n"
        "M.register(type(g))\nmatch g:\n    case M(loot): pass"
    ),
    "match-args-hook": (
        "import abc\nclass M(abc.ABC):\n    __match_args__ = ('__globals__',)\n    @classmethod\n"
        "    def __subclasshook__(cls, c): return True\ndef f(): pass\nmatch f:\n    case M(loot): pass"
    ),
    "match-args-descriptor": (
        "import abc\nclass Two:\n    n = 0\n    def __get__(self, a, b):\n        Two.n += 1\n"
        "        return ('__globals__',) if Two.n > SWITCH else ()\n"
        "SWITCH = 0\nclass M(abc.ABC):\n    __match_args__ = Two()\ndef f(): pass\nM.register(type(f))\n"
        "match f:\n    case M(loot): pass"
    ),
    "match-args-str-subclass": (
        "class S(str): pass\nclass M:\n    __match_args__ = ('__class__',)\nmatch M():\n    case M(x):\n        loot = type(x)"
    ),
    "match-args-set-later": (
        "import abc\nclass M(abc.ABC): pass\ndef f(): pass\nM.register(type(f))\nM.__match_args__ = ('__globals__',)\n"
        "match f:\n    case M(loot): pass"
    ),
    "match-args-setattr": (
        "import abc\nclass M(abc.ABC): pass\ndef f(): pass\nM.register(type(f))\nsetattr(M, '__match_args__', ('__globals__',))\n"
        "match f:\n    case M(loot): pass"
    ),
    "match-args-inherited": (
        "import abc\nclass B(abc.ABC):\n    __match_args__ = ('__globals__',)\nclass M(B): pass\ndef f(): pass\n"
        "M.register(type(f))\nmatch f:\n    case M(loot): pass"
    ),
    "class-swapped-in-guard": (
        "import abc\nclass Evil(abc.ABC):\n    __match_args__ = ('__globals__',)\ndef f(): pass\n"
        "Evil.register(type(f))\nclass M:\n    __match_args__ = ()\n"
        "match f:\n    case _ if (M := Evil) and False: pass\n    case M(loot): pass"
    ),
    "value-pattern": "def f(): pass\nx = f.__code__\nmatch x:\n    case f.__code__:\n        loot = 'won'",
    "mapping-key": "class A: pass\nA.__k = 1\ndef f(): pass\nmatch {A.__class__: f}:\n    case {A.__class__: g}:\n        loot = 'won'",
    "format-through-args": (
        "import abc\nclass M(abc.ABC):\n    __match_args__ = ('format',)\nM.register(str)\ndef f(): pass\n"
        "match '{0.__globals__}':\n    case M(go):\n        loot = 'won' if 'builtins' in go(f) else 0"
    ),
}

#: Classes: who may be derived from, made, changed; and hooks that the interpreter calls.
CLASSES = {
    "group-that-lies": (
        "class G(ExceptionGroup):\n    def split(self, kind):\n        global loot\n        loot = 'won'\n        return self, None\n"
        "try:\n    raise G('g', [ValueError()])\nexcept* KeyError: pass\nexcept* ValueError: pass"
    ),
    "group-set-to-lie": (
        "def split(kind):\n    global loot\n    loot = 'won'\n    return g, None\ng = ExceptionGroup('g', [ValueError()])\n"
        "g.split = split\ntry:\n    raise g\nexcept* KeyError: pass\nexcept* ValueError: pass"
    ),
    "group-set-to-lie-by-name": (
        "def split(kind):\n    global loot\n    loot = 'won'\n    return g, None\ng = ExceptionGroup('g', [ValueError()])\n"
        "vars(g).update(split=split)\ntry:\n    raise g\nexcept* KeyError: pass\nexcept* ValueError: pass"
    ),
    "three-argument-type": "loot = type('A', (), {'x': 'won'}).x",
    "type-of-class": "loot = type(int)",
    "type-of-type": "loot = type(type)",
    "type-of-own-class": "class A: pass\nloot = type(A)",
    "type-of-enum": "import enum\nclass E(enum.Enum):\n    A = 1\nloot = type(type(E))",
    "enum-convert": (
        "import enum\nclass E(enum.Enum): pass\nseen = []\nE._convert_('M', 'keyword', seen.append)\n"
        "loot = 'won' if 'kwlist' in seen else 0"
    ),
    "enum-convert-getattr": (
        "import enum\nclass E(enum.Enum): pass\nseen = []\ngetattr(E, '_convert_')('M', 'keyword', seen.append)\n"
        "loot = 'won' if 'kwlist' in seen else 0"
    ),
    "enum-convert-in-class": (
        "import enum\nseen = []\nclass E(enum.Enum):\n    @classmethod\n    def go(cls):\n"
        "        cls._convert_('M', 'keyword', seen.append)\nE.go()\nloot = 'won' if 'kwlist' in seen else 0"
    ),
    "enum-create": "import enum\nclass E(enum.Enum): pass\nC = E._create_('X', {'__loot__': 'won'})\nloot = C.__loot__",
    "enum-call-module": "import enum\nC = enum.Enum('X', 'A', module='sys')\nloot = 'won' if C.__module__ == 'sys' else 0",
    "enum-call-mixin": "import enum\nC = enum.Enum('X', {'A': len}, type=staticmethod)\nloot = 'won' if issubclass(C, staticmethod) else 0",
    "type-in-map": "loot = list(map(type, [int]))[0]",
    "type-in-defaultdict": "import collections\nloot = collections.defaultdict(lambda: type(int))[0]",
    "type-by-get-origin": "import typing\nloot = typing.get_origin(typing.Type[int])",
    "type-generic-alias": "import typing\nloot = typing.get_origin(type[int])",
    "function-type": "def f(): pass\nloot = type(f)",
    "metaclass-keyword": "class M(type): pass\nclass A(metaclass=M): pass\nloot = 'won'",
    "metaclass-named-abc-meta": (
        "class ABCMeta(type):\n    def __call__(cls): return 'won'\nclass A(metaclass=ABCMeta): pass\nloot = A()"
    ),
    "metaclass-attribute-abc-meta": (
        "class m:\n    ABCMeta = lambda *a: 'won'\nclass A(metaclass=m.ABCMeta): pass\nloot = A"
    ),
    "metaclass-abc-meta-by-name": "import abc\nloot = abc.ABCMeta('A', (), {'x': 'won'}).x",
    "metaclass-abc-meta-derived": (
        "import abc\nclass M(abc.ABCMeta):\n    def __call__(cls): return 'won'\nclass A(metaclass=M): pass\nloot = A()"
    ),
    "metaclass-in-stars": "class A(**{'metaclass': lambda *a: 'won'}): pass\nloot = A",
    "derive-from-type": "class M(type): pass\nloot = 'won'",
    "derive-from-type-of-class": "class M(type(int)): pass\nloot = 'won'",
    "derive-from-staticmethod": "class S(staticmethod): pass\nloot = 'won'",
    "derive-from-super": "class S(super): pass\nloot = 'won'",
    "derive-from-property": "class P(property): pass\nloot = 'won'",
    "derive-from-printer": (
        "import pprint\nclass P(pprint.PrettyPrinter):\n    def take(self): return self._stream\n"
        "loot = 'won' if P().take() else 0"
    ),
    "derive-from-cached-property": (
        "import functools, pprint\nclass C(functools.cached_property): pass\nc = C(lambda s: 0)\nc.attrname = '_stream'\n"
        "loot = 'won' if c.__get__(pprint.PrettyPrinter(), None) else 0"
    ),
    "derive-from-module-type": "import json\nclass M(type(json)): pass\nloot = 'won'",
    "derive-from-dataclass-of-printer": (
        "import dataclasses, pprint\nB = dataclasses.make_dataclass('B', [], bases=(pprint.PrettyPrinter,))\n"
        "class P(B):\n    def __init__(self): pprint.PrettyPrinter.__init__(self)\n    def take(self): return self._stream\n"
        "loot = 'won' if P().take() else 0"
    ),
    "dataclass-of-printer": (
        "import dataclasses, pprint\nB = dataclasses.make_dataclass('B', [], bases=(pprint.PrettyPrinter,), init=False)\n"
        "loot = 'won' if B()._stream else 0"
    ),
    "mro-entries": "class B:\n    def __mro_entries__(self, bases): return (staticmethod,)\nclass A(B()): pass\nloot = 'won' if issubclass(A, staticmethod) else 0",
    "mro-entries-by-getattr": (
        "class B:\n    n = 0\n    def __getattr__(self, name):\n        if name == '__mro_entries__':\n"
        "            B.n += 1\n            return lambda bases: (staticmethod,) if B.n > SWITCH else (object,)\n"
        "        raise AttributeError(name)\nSWITCH = 0\nclass A(B()): pass\nloot = 'won' if issubclass(A, staticmethod) else 0"
    ),
    "generic-alias-base": (
        "alias = type(list[int])(staticmethod, ())\nclass A(alias): pass\nloot = 'won' if issubclass(A, staticmethod) else 0"
    ),
    "prepare": "class M(type):\n    @classmethod\n    def __prepare__(m, n, b): return {'x': 'won'}\nclass A(metaclass=M): pass\nloot = A.x",
    "class-cell": "class A:\n    def f(self): return __class__\nloot = A().f().__class__",
    "foreign-new": "import json\nM = type(json)\nloot = 'won' if object.__new__(type(json.JSONDecoder())) else 0",
    "foreign-new-super": (
        "import json\nclass A:\n    def __new__(cls): return super().__new__(json.JSONDecoder)\nloot = 'won' if A() else 0"
    ),
    "getattribute-lies": (
        "class A:\n    def __getattribute__(self, name):\n        return str if name == '__class__' else None\n"
        "loot = 'won' if isinstance(A(), str) else 0"
    ),
    "class-attribute-lies": "class A:\n    __class__ = str\nloot = 'won' if isinstance(A(), str) else 0",
    "class-property-lies": "class A:\n    @property\n    def __class__(self): return str\nloot = 'won' if isinstance(A(), str) else 0",
    "module-name-lies": "class A:\n    __module__ = 'sys'\nloot = 'won' if A.__module__ == 'sys' else 0",
    "name-rebound": "__name__ = 'sys'\nclass A: pass\nloot = 'won' if A.__module__ == 'sys' else 0",
    "reduce-hook": (
        "import copy\nclass A:\n    def __reduce_ex__(self, n):\n        return (lambda: f, (), (None, {'__defaults__': ('won',)}))\n"
        "def f(x): return x\ncopy.copy(A())\nloot = f()"
    ),
    "getstate-hook": (
        "import copy\nclass A:\n    def __new__(cls): return object.__new__(cls) if FRESH else f\n"
        "    def __getstate__(self): return (None, {'__defaults__': ('won',)})\n"
        "def f(x): return x\nFRESH = True\na = A()\nFRESH = False\ncopy.copy(a)\nloot = f()"
    ),
    "del-hook": "class A:\n    def __del__(self):\n        global loot\n        loot = 'won'\na = A()\ndel a",
    "buffer": "loot = 'won' if memoryview(b'x') else 0",
    "instancecheck": "class M(type):\n    def __instancecheck__(c, x): return True\nclass A(metaclass=M): pass\nloot = 'won' if isinstance(1, A) else 0",
    "singledispatch": (
        "import functools\nloot = ''\ndef won():\n    global loot\n    loot = 'won'\n    return int\n"
        "@functools.singledispatch\ndef f(x): pass\ndef g(x: 'won()'): pass\nf.register(g)"
    ),
    "type-hints": "import typing\ndef f(x: \"(lambda: 0).__code__\"): pass\nloot = typing.get_type_hints(f, {'x': 1}) and 'won'".replace(
        "(lambda: 0).__code__", "int"
    ),
    "wraps-globals": (
        "import functools\ndef f(): pass\nclass W: pass\nw = W()\nfunctools.update_wrapper(w, f, assigned=('__globals__',), updated=())\n"
        "loot = w.__globals__"
    ),
}

#: Stores on what is not the cell's own.
STORES = {
    "function-of-module": "import json\njson.dumps.x = 'won'\nloot = json.dumps.x",
    "module": "import json\njson.extra = 'won'\nloot = json.extra",
    "module-function-replaced": "import json\nkeep = json.dumps\njson.dumps = lambda *a: 'won'\nloot = json.dumps(1)\njson.dumps = keep",
    "class-of-module": "import collections\ncollections.Counter.extra = 'won'\nloot = collections.Counter.extra\ndel collections.Counter.extra",
    "instance-of-module-class": "import textwrap\nw = textwrap.TextWrapper()\nw.extra = 'won'\nloot = w.extra",
    "setattr-class-of-module": "import collections\nsetattr(collections.Counter, 'extra', 'won')\nloot = collections.Counter.extra\ndelattr(collections.Counter, 'extra')",
    "in-for": "import json\nfor json.extra in ['won']: pass\nloot = json.extra",
    "in-with": "import json\nclass C:\n    def __enter__(self): return 'won'\n    def __exit__(self, *a): pass\nwith C() as json.extra: pass\nloot = json.extra",
    "in-tuple": "import json\njson.extra, x = 'won', 1\nloot = json.extra",
    "in-star": "import json\n*json.extra, x = 'won', 1\nloot = json.extra[0]",
    "augmented": "import json\njson.extra = ''\njson.extra += 'won'\nloot = json.extra",
    "annotated": "import json\njson.extra: str = 'won'\nloot = json.extra",
    "delete": "import json\njson.extra = 1\ndel json.extra\nloot = 'won'",
    "comprehension": "import json\n[0 for json.extra in ['won']]\nloot = json.extra",
    "method-as-self": (
        "import collections\nclass A:\n    def put(self): self.extra = 'won'\nA.put(collections.Counter)\n"
        "loot = collections.Counter.extra\ndel collections.Counter.extra"
    ),
    "closure-as-self": "import json\ndef put(o):\n    def go():\n        o.extra = 'won'\n    go()\nput(json)\nloot = json.extra",
    "rename-foreign": "import json\njson.dumps.__name__ = 'won'\nloot = json.dumps.__name__\njson.dumps.__name__ = 'dumps'",
    "rename-with-subclass": (
        "class S(str):\n    won = 'won'\ndef f(): pass\nf.__name__ = S('f')\nloot = getattr(f.__name__, 'won', 0)"
    ),
    "doc-foreign": "import json\nkeep = json.dumps.__doc__\njson.dumps.__doc__ = 'won'\nloot = json.dumps.__doc__\njson.dumps.__doc__ = keep",
    "private-foreign": "import pprint\np = pprint.PrettyPrinter()\np._stream = 'won'\nloot = p._stream",
    "private-foreign-load": "import pprint\nloot = 'won' if pprint.PrettyPrinter()._stream else 0",
    "private-of-module": "import json\nloot = json._default_encoder and 'won'",
    "private-of-module-getattr": "import json\nloot = getattr(json, '_default_encoder') and 'won'",
    "private-in-with": "import pprint\nclass C:\n    def __enter__(self): return 'won'\n    def __exit__(self, *a): pass\np = pprint.PrettyPrinter()\nwith C() as p._stream: pass\nloot = p._stream",
    "dunder-of-foreign-class": "import collections\ncollections.Counter.__len__ = lambda s: 1\nloot = 'won'\ndel collections.Counter.__len__",
    "object-setattr": "import pprint\np = pprint.PrettyPrinter()\nobject.__setattr__(p, 'extra', 'won')\nloot = p.extra",
    "object-delattr": "import pprint\np = pprint.PrettyPrinter()\nobject.__delattr__(p, '_stream')\nloot = 'won'",
    "super-setattr-foreign": (
        "import pprint\np = pprint.PrettyPrinter()\nclass A:\n    def go(self): return super().__setattr__\n"
        "object.__setattr__(p, 'extra', 'won')\nloot = p.extra"
    ),
    "class-setattr-foreign": "import pprint\np = pprint.PrettyPrinter()\nclass A: pass\nA.__setattr__(p, 'extra', 'won')\nloot = p.extra",
    "init-on-foreign": (
        "import collections, textwrap\nclass E(collections.ChainMap): pass\nE.__init__(textwrap.dedent, {'a': 'won'})\n"
        "loot = textwrap.dedent.maps[0]['a']"
    ),
    "init-on-foreign-super": (
        "import collections, textwrap\nclass E(collections.ChainMap): pass\n"
        "super(E, E).__init__(textwrap.fill, {'a': 'won'})\nloot = textwrap.fill.maps[0]['a']"
    ),
    "init-on-foreign-base": (
        "import collections, textwrap\ncollections.ChainMap.__init__(textwrap.wrap, {'a': 'won'})\nloot = textwrap.wrap.maps[0]['a']"
    ),
    "init-on-foreign-dataclass": (
        "import dataclasses, textwrap\n@dataclasses.dataclass\nclass D:\n    extra: str\nD.__init__(textwrap.indent, 'won')\n"
        "loot = textwrap.indent.extra"
    ),
    "print": "class A: pass\nloot = print.__self__",
}

#: Builtins and imports.
BUILTINS = {
    "open": "loot = open",
    "eval": "loot = eval('(lambda: 0).__code__')",
    "exec": "exec('loot = (lambda: 0).__code__')",
    "compile": "loot = compile('1', '', 'eval')",
    "import-builtin": "loot = __import__('sys')",
    "builtins-name": "loot = __builtins__ if type(__builtins__) is dict else vars(__builtins__)",
    "build-class": "loot = 'won' if __build_class__ else 0",
    "globals": "loot = globals()",
    "locals": "loot = locals()",
    "eval-in-map": "loot = list(map(eval, ['(lambda: 0).__code__']))[0]",
    "alias": "e = eval\nloot = e('(lambda: 0).__code__')",
    "in-default": "def f(e=eval): return e('(lambda: 0).__code__')\nloot = f()",
    "input": "loot = 'won' if input else 0",
    "import-sys": "import ctypes\nloot = ctypes",
    "import-as": "import ctypes as s\nloot = s",
    "import-from": "from sys import modules as loot",
    "import-submodule": "import importlib.util\nloot = importlib",
    "import-private": "import _io\nloot = _io.FileIO",
    "import-from-package": "from json import codecs as loot",
    "import-tool": "import json.tool\nloot = json.tool.sys",
    "import-star": "from sys import *\nloot = modules",
    "import-in-function": "def f():\n    import ctypes\n    return ctypes\nloot = f()",
    "import-in-class": "class A:\n    import ctypes\nloot = A.ctypes",
    "import-through-module": "import json\nloot = json.codecs",
    "import-through-re": "import re\nloot = re.enum",
    "import-through-statistics": "import statistics\nloot = statistics.sys",
    "builtins-module": "import builtins\nloot = builtins.open",
    "lookalike": "loot = ｏpen",
    "lookalike-eval": "loot = ｅval('(lambda: 0).__code__')",
    "debug-modules": "import importlib\nloot = importlib.import_module('sys')",
}

_OWN = "import pprint\nclass Own:\n    def __iadd__(self, other): return other\nforeign = pprint.PrettyPrinter()\n"
_TAKE = "    global loot\n    o.extra = 'won'\n    loot = o.extra\n"
_CALL = "f(Own())\n"

#: A parameter is asked once, at the function's entry, whose it is: ways to make it name something else afterwards.
COROUTINES = {
    "frame": "async def f(): pass\nc = f()\nloot = c.cr_frame\nc.close()",
    "frame-by-name": "async def f(): pass\nc = f()\nloot = getattr(c, 'cr_frame')\nc.close()",
    "code-by-attrgetter": "import operator\nasync def f(): pass\nc = f()\nloot = operator.attrgetter('cr_code')(c)\nc.close()",
    "globals-of-its-function": "async def f(): pass\nloot = f.__globals__",
    "frame-in-an-await": "async def f(x): return x\nc = f((lambda: 0).__code__)\ntry: c.send(None)\nexcept StopIteration as e: loot = e.value",
    "generator-frame": "async def f():\n    yield 1\nloot = f().ag_frame",
    "generator-code-by-name": "async def f():\n    yield 1\nloot = getattr(f(), 'ag_code')",
    "frame-of-a-traceback": (
        "async def f(): 1 / 0\nc = f()\ntry: c.send(None)\nexcept ZeroDivisionError as e: loot = e.__traceback__.tb_frame"
    ),
}

PARAMETERS = {
    "assigned": f"{_OWN}def f(o):\n    o = foreign\n{_TAKE}{_CALL}",
    "unpacked": f"{_OWN}def f(o):\n    o, x = foreign, 1\n{_TAKE}{_CALL}",
    "starred": f"{_OWN}def f(o):\n    *o, x = 1, 2\n    [o] = [foreign]\n{_TAKE}{_CALL}",
    "augmented": f"{_OWN}def f(o):\n    o += foreign\n{_TAKE}{_CALL}",
    "annotated": f"{_OWN}def f(o):\n    o: int = foreign\n{_TAKE}{_CALL}",
    "looped": f"{_OWN}def f(o):\n    for o in [foreign]: pass\n{_TAKE}{_CALL}",
    "in-with": (
        f"{_OWN}class C:\n    def __enter__(self): return foreign\n    def __exit__(self, *a): pass\n"
        f"def f(o):\n    with C() as o: pass\n{_TAKE}{_CALL}"
    ),
    "walrus": f"{_OWN}def f(o):\n    (o := foreign)\n{_TAKE}{_CALL}",
    "walrus-in-comprehension": f"{_OWN}def f(o):\n    [(o := x) for x in [foreign]]\n{_TAKE}{_CALL}",
    "captured": f"{_OWN}def f(o):\n    match foreign:\n        case o: pass\n{_TAKE}{_CALL}",
    "captured-as": f"{_OWN}def f(o):\n    match foreign:\n        case object() as o: pass\n{_TAKE}{_CALL}",
    "captured-star": f"{_OWN}def f(o):\n    match [foreign]:\n        case [*o]: o = o[0]\n{_TAKE}{_CALL}",
    "nonlocal": f"{_OWN}def f(o):\n    def g():\n        nonlocal o\n        o = foreign\n    g()\n{_TAKE}{_CALL}",
    "nonlocal-deep": (
        f"{_OWN}def f(o):\n    def g():\n        def h():\n            nonlocal o\n            [o] = [foreign]\n        h()\n"
        f"    g()\n{_TAKE}{_CALL}"
    ),
    "lambda-parameter": f"{_OWN}def f(o):\n    o.x = 1\n    return (lambda o: o._stream and 'won')(foreign)\nloot = {_CALL}",
    "lambda-star-parameter": (
        f"{_OWN}class T:\n    pass\ndef f(o):\n    o.x = 1\n    return (lambda **o: getattr(o['p'], '_stream') and 'won')(p=foreign)\nloot = {_CALL}"
    ),
    "comprehension-variable": f"{_OWN}def f(o):\n    o.x = 1\n    return [o._stream and 'won' for o in [foreign]][0]\nloot = {_CALL}",
    "inner-parameter": (
        f"{_OWN}def f(o):\n    o.x = 1\n    def g(o):\n        return o._stream and 'won'\n    return g(foreign)\nloot = {_CALL}"
    ),
    "inner-class": (
        f"{_OWN}def f(o):\n    o.x = 1\n    class A:\n        o = foreign\n        y = o._stream and 'won'\n    return A.y\nloot = {_CALL}"
    ),
    "exception": (
        f"{_OWN}def f(o):\n    o.x = 1\n    try:\n        1 / 0\n    except Exception as o:\n        o.extra = 'won'\n"
        f"        return o.extra\nloot = {_CALL}"
    ),
    "imported": f"{_OWN}def f(o):\n    o.x = 1\n    import json as o\n    o.extra = 'won'\n    return o.extra\nloot = {_CALL}",
    "from-imported": (
        f"{_OWN}def f(o):\n    o.x = 1\n    from json import dumps as o\n    o.extra = 'won'\n    return o.extra\nloot = {_CALL}"
    ),
    "defined": f"{_OWN}def f(o):\n    o.x = 1\n    def o(): pass\n    return o.__code__\nloot = {_CALL}",
    "foreign-argument": f"{_OWN}def f(o):\n{_TAKE}f(foreign)\n",
    "foreign-second-time": f"{_OWN}def f(o):\n{_TAKE}{_CALL}loot = None\nf(foreign)\n",
    "foreign-default": f"{_OWN}def f(o=foreign):\n{_TAKE}f()\n",
    "foreign-keyword": f"{_OWN}def f(*, o):\n{_TAKE}f(o=foreign)\n",
    "in-generator": (
        f"{_OWN}def f(o):\n    yield 1\n    o = yield 2\n    o.extra = 'won'\n    yield o.extra\n"
        "g = f(Own())\nnext(g)\nnext(g)\nloot = g.send(foreign)"
    ),
    "class-changed": f"{_OWN}def f(o):\n    o.x = 1\n    o.__class__ = type(foreign)\n{_TAKE}{_CALL}",
}

GROUPS = {
    "parameters": PARAMETERS,
    "attributes": ATTRIBUTES,
    "strings": STRINGS,
    "formats": FORMATS,
    "matches": MATCHES,
    "classes": CLASSES,
    "stores": STORES,
    "builtins": BUILTINS,
    "coroutines": COROUTINES,
}
ATTACKS = {f"{group}/{name}": source for group, table in GROUPS.items() for name, source in table.items()}
