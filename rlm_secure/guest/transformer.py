"""Cell source, checked and rewritten: RestrictedPython's rules, with guards only where a name cannot decide.

RestrictedPython guards every attribute load, subscript, iteration and unpacking at run time. Here a guard call
stays only where the compile-time check of the name does not already prove what it would check:

- a public literal attribute is a native load: safer_getattr would only repeat the checks on its name;
- subscripts, iteration, unpacking, calls and augmented assignment are native: their guards are identities in
  any policy without per-object access lists;
- attribute stores, own private attributes, data-model attributes, `format` and its kind, `obj`, imports and
  removed builtins go through a guard of guards.py.

The walk is iterative, so that no depth of nesting meets the interpreter's recursion limit, and rewrites nodes in
place, children before or after their parents alike. A node type that is not in the table is refused.
tests/guest/test_equivalence.py holds this file against RestrictedPython, relaxation by relaxation.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import names

_MODULE, _CLASS, _FUNCTION = "module", "class", "function"


class Finding(NamedTuple):
    """One broken rule: where, which, and a sentence with the allowed alternative."""

    node: ast.AST
    rule: str
    message: str


class Guard(ast.Name):
    """A guard's name in the tree. The walk passes over it: it was put there by the walk."""


class CellTransformer(RestrictingNodeTransformer):
    """One cell's check. After `screen`, `findings` lists what is refused; without any, the tree may be compiled."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.findings: list[Finding] = []
        self.flags = 0
        self._limit = nodes
        self._kind = _MODULE
        self._owner: str | None = None
        self._stack: list[Any] = []
        self._scopes: list[tuple[list[Any], str, str | None]] = []
        self._removed: list[ast.Name] = []
        self._rebound: set[str] = set()
        self._patterns = 0

    def screen(self, tree: ast.Module) -> None:
        """Check and rewrite `tree` in place."""
        scopes = self._scopes
        scopes.append((list(tree.body), _MODULE, None))
        table, watched = _TABLE, _WATCHED_NAMES
        seen, limit = 0, self._limit
        while scopes:
            stack, self._kind, self._owner = scopes.pop()
            self._stack = stack
            while stack:
                node = stack.pop()
                kind = node.__class__
                if kind is ast.Name:
                    seen += 1
                    if node.id[0] == "_" or node.id in watched:
                        self._name(node)
                    continue
                if kind is ast.Constant or kind is Guard or node is None:
                    seen += 1
                    continue
                entry = table.get(kind)
                if entry is None:
                    self.generic_visit(node)
                    continue
                fields, check = entry
                for field in fields:
                    child = getattr(node, field)
                    if child.__class__ is list:
                        stack.extend(child)
                    elif child is not None:
                        stack.append(child)
                if check is not None:
                    check(self, node)
                seen += 1
                if seen > limit:
                    self._refuse(
                        node, "tree-size", f"the cell has more than {limit} syntax nodes; split it into smaller cells"
                    )
                    return
        for name in self._removed:
            if name.id not in self._rebound:
                _become(name, ast.Call, func=_guard(names.REMOVED, name), args=[_text(name.id, name)], keywords=[])

    def error(self, node: ast.AST, info: str) -> None:
        """RestrictedPython's way to refuse: a node type that it, and we, do not know."""
        self._refuse(node, "unknown-syntax", f"{info} Write it with plainer Python.")

    def _refuse(self, node: ast.AST, rule: str, message: str) -> None:
        self.findings.append(Finding(node, rule, message))

    # Names

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            here = names.CLASS_LEVEL if self._kind == _CLASS else names.MODULE_LEVEL
            self._bind(node, name, allowed=here if self._kind != _FUNCTION else frozenset())
        elif name in names.REMOVED_BUILTINS:
            self._removed.append(node)
        elif names.is_dunder(name):
            readable = name == "__name__" or name in names.MODULE_LEVEL
            if not readable and not (self._kind == _CLASS and name in names.DEFINABLE):
                self._refuse(node, "dunder-name", f"the name {name!r} belongs to the interpreter; {_instead(name)}")
        elif name in names.HOOKS:
            self._refuse(node, "hook-name", f"the name {name!r} is reserved; choose another name")

    def _bind(self, node: ast.AST, name: str | None, *, allowed: frozenset[str] = frozenset()) -> None:
        """Check a name that the cell binds, whatever the grammar it is bound with."""
        if name is None:
            return
        if name in names.HOOKS:
            self._refuse(node, "hook-name", f"the name {name!r} is reserved; choose another name")
        elif names.is_dunder(name):
            if name not in allowed:
                self._refuse(node, "dunder-name", f"the name {name!r} cannot be bound here; {_instead(name)}")
        elif name in names.REMOVED_BUILTINS:
            self._rebound.add(name)

    def _declaration(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self._bind(node, name)

    def _argument(self, node: ast.arg) -> None:
        self._bind(node, node.arg)

    def _handler(self, node: ast.ExceptHandler) -> None:
        self._bind(node, node.name)
        if node.type is None:
            # A bare `except:` would catch the worker's own interrupt.
            node.type = _guard(names.EXCEPTION, node)

    # Attributes

    def _attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        loads = isinstance(node.ctx, ast.Load)
        if not names.is_private(name):
            if name in names.CLOSED:
                self._refuse(node, "closed-attribute", f"the attribute {name!r} is closed to cells; {_instead(name)}")
            elif not loads:
                self._wrap(node, names.STORE, name)
            elif name in names.GUARDED and not _plain_template(node):
                self._ask(node)
        elif names.is_dunder(name):
            if loads:
                self._dunder_load(node)
            elif name in names.RENAMABLE:
                # f.__name__ = v becomes <rename>(f)["__name__"] = v, in any kind of target.
                holder = _call(names.RENAME, node, node.value)
                _become(node, ast.Subscript, value=holder, slice=_text(name, node), ctx=node.ctx)
            elif name in names.DEFINABLE:
                self._wrap(node, names.STORE, name)
            else:
                self._refuse(node, "dunder-attribute", f"the attribute {name!r} cannot be set; {_instead(name)}")
        elif name in names.HOOKS:
            self._refuse(node, "hook-name", f"the name {name!r} is reserved; choose another name")
        else:
            self._wrap(node, names.PRIVATE, names.mangled(name, self._owner))

    def _dunder_load(self, node: ast.Attribute) -> None:
        name, value = node.attr, node.value
        literal = isinstance(value, _LITERALS)
        if name not in names.READABLE or (literal and name in names.OWN_ONLY):
            self._refuse(node, "dunder-attribute", f"the attribute {name!r} is closed to cells; {_instead(name)}")
            return
        if name in names.TEXTS and isinstance(value, ast.Attribute) and value.attr == "__class__":
            # x.__class__.__name__ is type(x).__name__: text, for any x.
            _become(value, ast.Call, func=_guard(names.TYPE, value), args=[value.value], keywords=[])
        self._ask(node)

    def _ask(self, node: ast.Attribute) -> None:
        """Replace a load by a call of the guard that getattr() is."""
        call = _call(names.ATTRIBUTE, node, node.value, _text(node.attr, node))
        _become(node, ast.Call, func=call.func, args=call.args, keywords=[])

    def _wrap(self, node: ast.Attribute, guard: str, name: str) -> None:
        """Let `guard` pass the object on, or raise, before the attribute is touched."""
        value = node.value
        call: ast.expr = _call(guard, node, value, _text(name, node))
        if isinstance(value, ast.Name) and not names.is_dunder(name):
            # Instances of the cell's own plain classes pass without a call.
            known = ast.Compare(_call(names.TYPE, node, value), [ast.In()], [_guard(names.CLASSES, node)])
            call = _at(ast.IfExp(_at(known, node), value, call), node)
        node.value = call

    def _call_of(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval"):
            instead = names.REMOVED_BUILTINS[node.func.id]
            self._refuse(node, "code-from-text", f"{node.func.id}() does not exist here; {instead}")

    # Imports

    def _import(self, node: ast.Import) -> None:
        targets: list[ast.expr] = []
        values: list[ast.expr] = []
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self._imported(node, alias.name, bound)
            targets.append(_at(ast.Name(bound, ast.Store()), node))
            whole = _at(ast.Constant(alias.asname is not None), node)
            values.append(_call(names.IMPORT, node, _text(alias.name, node), whole))
        self._assign(node, targets, values)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level:
            self._refuse(node, "relative-import", "a cell is in no package; import a module by its full name")
        elif node.module == "__future__":
            self._future(node)
        else:
            targets: list[ast.expr] = []
            values: list[ast.expr] = []
            for alias in node.names:
                bound = alias.asname or alias.name
                self._imported(node, alias.name, bound)
                targets.append(_at(ast.Name(bound, ast.Store()), node))
                module = _text(node.module or "", node)
                values.append(_call(names.IMPORT_FROM, node, module, _text(alias.name, node)))
            self._assign(node, targets, values)

    def _imported(self, node: ast.stmt, name: str, bound: str) -> None:
        if name == "*":
            self._refuse(node, "star-import", "`import *` is not supported; import the names you use")
        elif any(part.startswith("_") for part in name.split(".")):
            self._refuse(node, "private-import", f"{name!r} is private; import a public name")
        elif names.is_dunder(bound) or bound in names.HOOKS:
            self._bind(node, bound)
        elif bound in names.REMOVED_BUILTINS:
            self._rebound.add(bound)

    def _future(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "annotations":
                self.flags |= __future__.annotations.compiler_flag
            elif alias.name not in _PAST_FEATURES or alias.asname:
                self._refuse(node, "future-import", f"__future__.{alias.name} is not supported; leave it out")
        _become(node, ast.Pass)

    def _assign(self, node: ast.stmt, targets: list[ast.expr], values: list[ast.expr]) -> None:
        if len(targets) == 1:
            _become(node, ast.Assign, targets=targets, value=values[0], type_comment=None)
        else:
            target = _at(ast.Tuple(targets, ast.Store()), node)
            value = _at(ast.Tuple(values, ast.Load()), node)
            _become(node, ast.Assign, targets=[target], value=value, type_comment=None)

    # Functions and classes

    def _function(self, node: ast.FunctionDef) -> None:
        self._bind(node, node.name, allowed=names.DEFINABLE if self._kind == _CLASS else frozenset())
        self._no_type_parameters(node)
        self._scopes.append((list(node.body), _FUNCTION, self._owner))

    def _class(self, node: ast.ClassDef) -> None:
        self._bind(node, node.name)
        self._no_type_parameters(node)
        for keyword in node.keywords:
            if keyword.arg == "metaclass":
                self._refuse(
                    node,
                    "metaclass",
                    "metaclasses are not supported; derive from abc.ABC or enum.Enum, or use a class decorator",
                )
        self._scopes.append((list(node.body), _CLASS, node.name))

    def _no_type_parameters(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        if getattr(node, "type_params", None):
            self._refuse(node, "type-parameters", "type parameters are not supported; use typing.TypeVar")

    # Patterns

    def _match(self, node: ast.Match) -> None:
        """Check the patterns of a match statement; class patterns with positional parts go through a guard.

        A positional part reads the attributes that the class lists in `__match_args__`, as strings. The class is
        looked up and checked once, before the subject, and the pattern then uses that very object.
        """
        checked: list[ast.expr] = []
        todo: list[Any] = [case.pattern for case in node.cases]
        while todo:
            pattern = todo.pop()
            kind = pattern.__class__
            if kind is ast.MatchClass:
                for name in pattern.kwd_attrs:
                    self._pattern_attribute(pattern, name)
                self._pattern_value(pattern.cls)
                if pattern.patterns:
                    name = f"<pattern {self._patterns}>"
                    self._patterns += 1
                    target = _at(ast.Name(name, ast.Store()), pattern)
                    checked.append(_at(ast.NamedExpr(target, _call(names.PATTERN, pattern, pattern.cls)), pattern))
                    pattern.cls = _guard(name, pattern)
                todo.extend(pattern.patterns)
                todo.extend(pattern.kwd_patterns)
            elif kind is ast.MatchAs:
                self._bind(pattern, pattern.name)
                if pattern.pattern is not None:
                    todo.append(pattern.pattern)
            elif kind is ast.MatchStar:
                self._bind(pattern, pattern.name)
            elif kind is ast.MatchMapping:
                self._bind(pattern, pattern.rest)
                for key in pattern.keys:
                    self._pattern_value(key)
                todo.extend(pattern.patterns)
            elif kind is ast.MatchSequence or kind is ast.MatchOr:
                todo.extend(pattern.patterns)
            elif kind is ast.MatchValue:
                self._pattern_value(pattern.value)
            elif kind is not ast.MatchSingleton:
                self.generic_visit(pattern)
        if checked:
            parts = _at(ast.Tuple([*checked, node.subject], ast.Load()), node.subject)
            last = _at(ast.Constant(-1), node.subject)
            node.subject = _at(ast.Subscript(parts, last, ast.Load()), node.subject)

    def _pattern_attribute(self, node: ast.AST, name: str) -> None:
        if not names.is_public(name):
            self._refuse(
                node,
                "pattern-attribute",
                f"the attribute {name!r} cannot stand in a pattern; read it in an `if` instead",
            )

    def _pattern_value(self, node: ast.expr) -> None:
        """Names and dotted names in a pattern: the grammar has no room for a guard, so only public ones pass."""
        base = node
        while isinstance(base, ast.Attribute):
            self._pattern_attribute(base, base.attr)
            base = base.value
        if not (isinstance(base, ast.Name) and base.id in names.REMOVED_BUILTINS):
            self._stack.append(node)

    # Refused as a whole

    def _async(self, node: ast.AST) -> None:
        self._refuse(
            node,
            "async",
            "cells are synchronous; call llm_query(...) directly, or llm_query_batched([...]) to run many at once",
        )

    def _comprehension(self, node: ast.comprehension) -> None:
        if node.is_async:
            self._async(node)

    def _except_star(self, node: ast.AST) -> None:
        self._refuse(
            node,
            "except-star",
            "`except*` is not supported, it can confuse types inside the interpreter (CVE-2025-22153); use `except`",
        )


_LITERALS = (
    ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_PAST_FEATURES = frozenset(__future__.all_feature_names) - {"annotations", "barry_as_FLUFL"}
_WATCHED_NAMES = frozenset(names.REMOVED_BUILTINS)

_INSTEAD = {
    "__class__": "use type(x), or isinstance()",
    "__dict__": "use vars(x) on instances of your own classes",
    "__import__": "use an import statement",
    "__builtins__": "call the builtin by its own name",
    "__traceback__": "print repr(error) instead",
    "__context__": "print repr(error) instead",
    "__cause__": "print repr(error) instead",
    "mro": "use isinstance() or issubclass()",
    "__mro__": "use isinstance() or issubclass()",
    "__bases__": "use isinstance() or issubclass()",
    "__base__": "use isinstance() or issubclass()",
    "__subclasses__": "keep a list of your classes yourself",
    "__del__": "use a with statement or try/finally",
    "__getattribute__": "define __getattr__ instead",
    "__file__": "a cell has no file",
    "__wrapped__": "keep the function in a variable",
}


def _instead(name: str) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name]
    if names.is_dunder(name):
        return "use the operator or builtin that stands for it, or a name without the double underscores"
    return "keep what you need in variables of your own"


def _plain_template(node: ast.Attribute) -> bool:
    """Whether `node` is `"literal".format` and the literal reads public attributes only."""
    value = node.value
    if node.attr not in ("format", "format_map") or not isinstance(value, ast.Constant):
        return False
    if type(value.value) is not str:
        return False
    try:
        return all(map(names.is_public, names.format_walks(value.value)))
    except ValueError:
        return False


def _at(node: Any, where: Any) -> Any:
    node.lineno = where.lineno
    node.col_offset = where.col_offset
    node.end_lineno = where.end_lineno
    node.end_col_offset = where.end_col_offset
    return node


def _guard(name: str, where: ast.AST) -> ast.expr:
    guard: ast.expr = _at(Guard(name, ast.Load()), where)
    return guard


def _text(text: str, where: ast.AST) -> ast.expr:
    constant: ast.expr = _at(ast.Constant(text), where)
    return constant


def _call(guard: str, where: ast.AST, *arguments: ast.expr) -> ast.Call:
    call: ast.Call = _at(ast.Call(_guard(guard, where), list(arguments), []), where)
    return call


def _become(node: Any, kind: type[ast.AST], **fields: Any) -> None:
    """Turn `node` into another kind of node where it stands, whatever holds it."""
    node.__class__ = kind
    for field, value in fields.items():
        setattr(node, field, value)


_Check = Callable[[CellTransformer, Any], None]
_TABLE: dict[type, tuple[tuple[str, ...], _Check | None]] = {}


def _plain(kinds: str) -> None:
    """Node types that RestrictedPython accepts as they are, or that only its elided guards touched."""
    for name in kinds.split():
        kind = getattr(ast, name)
        skipped = {"ctx", "op", "ops", "type_ignores", "type_comment", "simple", "conversion", "kind", "arg"}
        _TABLE[kind] = (tuple(field for field in kind._fields if field not in skipped), None)


def _checked(name: str, fields: str, check: _Check) -> None:
    if kind := getattr(ast, name, None):
        _TABLE[kind] = (tuple(fields.split()), check)


_plain(
    "Expr Assign AugAssign AnnAssign Delete Return Raise Assert Pass Break Continue If For While With withitem Try "
    "BinOp UnaryOp BoolOp Compare IfExp NamedExpr Lambda arguments keyword Starred Yield YieldFrom "
    "List Tuple Set Dict ListComp SetComp DictComp GeneratorExp JoinedStr FormattedValue Subscript Slice"
)
_checked("Attribute", "value", CellTransformer._attribute)
_checked("Call", "func args keywords", CellTransformer._call_of)
_checked("comprehension", "target iter ifs", CellTransformer._comprehension)
_checked("arg", "annotation", CellTransformer._argument)
_checked("Global", "", CellTransformer._declaration)
_checked("Nonlocal", "", CellTransformer._declaration)
_checked("ExceptHandler", "type body", CellTransformer._handler)
_checked("Import", "", CellTransformer._import)
_checked("ImportFrom", "", CellTransformer._import_from)
_checked("FunctionDef", "decorator_list args returns", CellTransformer._function)
_checked("ClassDef", "decorator_list bases keywords", CellTransformer._class)
_checked("Match", "subject cases", CellTransformer._match)
_TABLE[ast.match_case] = (("guard", "body"), None)
for _name in ("AsyncFunctionDef", "AsyncFor", "AsyncWith", "Await"):
    _checked(_name, "", CellTransformer._async)
_checked("TryStar", "", CellTransformer._except_star)

# Operators are not walked; one that nobody reviewed must not slip in with a new Python.
_REVIEWED = names.words(
    "Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub And Or "
    "Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Load Store Del AugLoad AugStore Param"
)
for _family in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context):
    for _kind in _family.__subclasses__():
        if _kind.__name__ not in _REVIEWED:
            raise ImportError(f"Python's operator {_kind.__name__} was never reviewed; use an older Python.")
