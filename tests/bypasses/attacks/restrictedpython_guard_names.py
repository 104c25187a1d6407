"""RestrictedPython rewrites `a.b` into `_getattr_(a, "b")`: whoever binds that name owns the guard. Every way that the
grammar has to bind a name must refuse it. (Several fixes between 1.0 and 9.0.)
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "assignment": """
_getattr_ = lambda o, n: vars(o)["_secret"]
LOOT = _getattr_(record, "public")
""",
    "walrus": """
[(_getattr_ := (lambda o, n: vars(o)["_secret"])) for _ in [0]]
LOOT = _getattr_(record, "public")
""",
    "for_target": """
for _getattr_ in [lambda o, n: vars(o)["_secret"]]:
    LOOT = _getattr_(record, "public")
""",
    "with_target": """
class C:
    def __enter__(self):
        return lambda o, n: vars(o)["_secret"]
    def __exit__(self, *a):
        pass
with C() as _getattr_:
    LOOT = _getattr_(record, "public")
""",
    "except_target": """
try:
    raise ValueError(vars(record))
except ValueError as _getattr_:
    LOOT = _getattr_.args
""",
    "import_as": """
import types as _getattr_
LOOT = [_getattr_.FunctionType, vars(record)]
""",
    "match_capture": """
match vars(record):
    case _getattr_:
        LOOT = _getattr_
""",
    "match_star": """
match [vars(record)]:
    case [*_getattr_]:
        LOOT = _getattr_
""",
    "match_rest": """
match vars(record):
    case {**_getattr_}:
        LOOT = _getattr_
""",
    "def_and_class": """
def _getattr_(o, n):
    return vars(o)
class _write_:
    pass
LOOT = _getattr_(record, "x")
""",
    "global_statement": """
def f():
    global _getattr_
    _getattr_ = lambda o, n: vars(o)
f()
LOOT = _getattr_(record, "x")
""",
    "nonlocal_statement": """
def f():
    _getattr_ = None
    def g():
        nonlocal _getattr_
        _getattr_ = vars(record)
    g()
    return _getattr_
LOOT = f()
""",
    "unpacking": """
(_getattr_, [_write_, *_getitem_]) = (vars(record), [1, 2])
LOOT = _getattr_
""",
    "annotated": """
_getattr_: object = vars(record)
LOOT = _getattr_
""",
    "star_arguments": """
def f(*_getattr_, **_write_):
    return _getattr_
LOOT = f(vars(record))
""",
    "delete": """
del _getattr_
LOOT = vars(record)
""",
    "unicode_look_alike": """
_getattr\uff3f = vars(record)
LOOT = _getattr_
""",
}
CONTROLS = {
    "delete": """
_getattr_ = 1
del _getattr_
LOOT = vars(record)
""",
}
