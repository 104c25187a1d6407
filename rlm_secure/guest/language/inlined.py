"""Guards that are compiled into the cell: the test of the most frequent case stands where the guard is asked.

A test and the use behind it must see one object. Between them other code can run: from Python 3.12 on, a collection may
begin at any call, and it runs the `finally` of generators and callbacks of weak references, which bind global variables
and those of closures. So what is tested is either a local variable that no other code can bind, or an expression whose
value is held in one. Where neither is possible, a guard is called, which takes the object as its argument.

A loop remembers what passed a test last, in a local variable of its function, and does not test that object again: the
sets of these tests only grow, and a class or an exact str is never another one later.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from . import names, nodes
from .nodes import call, constant, guard, likely, placed
from .scopes import Scope

#: How long a path is that may stand in two branches, of which one is evaluated.
_SMALL = 6


class Sites:
    """The places of a cell where a guard is asked, compiled once all bindings of the cell are known.

    `shared` are the names that the cell declares global or nonlocal, binds in a comprehension, or annotates without
    making them local: other code than that of the function may bind these.
    """

    def __init__(self) -> None:
        self.shared: set[str] = set()
        self._waiting: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._after: dict[int, tuple[ast.stmt, list[ast.stmt]]] = {}
        self._flags: set[tuple[int, str]] = set()
        self._starts: dict[tuple[int, str], tuple[Any, ast.expr]] = {}
        self._relied: dict[tuple[int, str], tuple[Any, ast.expr]] = {}

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._waiting)

    def add(self, method: Callable[..., None], *values: Any) -> None:
        """Call `method(*values)` in `settle`."""
        self._waiting.append((method, values))

    def settle(self) -> None:
        """Compile what was added."""
        for method, values in self._waiting:
            method(*values)
        for statement, after in self._after.values():
            _then(statement, [_shorter(each, statement) for each in after])
        for (_, name), (function, value) in self._starts.items():
            nodes.bind(function, name, value)
        for (_, name), (function, value) in self._relied.items():
            mark = _bound(mark_of(name), constant(None, value))
            nodes.insert(function, placed(ast.If(constant(False, value), [mark], []), value))

    def fixed(self, value: ast.expr, scope: Scope) -> bool:
        """Whether `value` is a variable that only the code of `scope` itself can bind.

        Of a function's variable, `relied_on` checks that Python has it as a local one as well.
        """
        if not isinstance(value, ast.Name) or names.has_spellings(value.id) or value.id in self.shared:
            return False
        found = scope.of_variable(value.id)
        if found is None or not found.local:
            return False
        if found.is_body and found.function is not None:
            self._relied[id(found.function), value.id] = found.function, value
        return True

    def _both(self, value: ast.expr, scope: Scope, statement: ast.stmt | None) -> tuple[ast.expr, ast.expr] | None:
        """Two expressions of one object: the first evaluates `value`, the second gives the same again.

        None if nothing can hold it. A held object is let go of after the statement, as Python does.
        """
        if self.fixed(value, scope):
            return value, value
        if not scope.holds or statement is None:
            return None
        if not isinstance(statement, ast.Return):
            _, after = self._after.setdefault(id(statement), (statement, []))
            if not any(each.__class__ is Clear for each in after):
                after.append(_bound(names.HELD, constant(None, statement), Clear))
        return held(names.HELD, value), guard(names.HELD, value)

    def of_own(
        self, node: ast.Attribute, asked: str, name: str, scope: Scope, statement: ast.stmt | None, loop: Any
    ) -> None:
        """An attribute of `node.value`, which is free on instances of the cell's own classes; `asked` is its guard."""
        value = node.value
        both = self._both(value, scope, statement)
        if both is None:
            within = names.SETTABLE if asked == names.STORE else asked
            node.value = call(within, node, value, constant(name, node))
            return
        first, again = both
        otherwise = call(asked, node, again, constant(name, node))
        if loop is not None and isinstance(value, ast.Name) and first is again and self._is_kept(value.id, scope):
            flag = self._flag(value, scope, loop)
            node.value = likely(flag, again, otherwise)
            return
        node.value = likely(self._own(first, again, loop), again, otherwise)

    def _own(self, first: ast.expr, again: ast.expr, loop: Any) -> ast.expr:
        """A test: is `first`, which `again` gives once more, an instance of the cell's own classes?"""
        kind = self._kind(first, loop)
        return self._met(kind, _type(again), lambda asked: _is_in(asked, names.CLASSES), names.LAST, loop)

    def _met(
        self, first: ast.expr, again: ast.expr, found: Callable[[ast.expr], ast.expr], last: str, loop: Any
    ) -> ast.expr:
        """The test `found` of `first`, which `again` gives once more. A `loop` does not repeat it for what it met last.

        The variable `last` is only bound to what passed the test, and to None where the function begins.
        """
        if loop is None:
            return found(first)
        self._starts[id(loop), last] = loop, constant(None, loop)
        learnt = _all(found(again), _is_not_none(held(last, again)))
        return _any(_is(first, guard(last, first)), learnt)

    def _kind(self, value: ast.expr, loop: Any) -> ast.expr:
        made: ast.expr = placed(ast.Call(self._near(names.TYPE, value, loop), [value], []), value)
        return made

    def _near(self, name: str, where: ast.AST, loop: Any) -> ast.expr:
        """The guard `name`: in a `loop` by a local variable, which is found faster, bound as the function starts."""
        if loop is None:
            return guard(name, where)
        near = names.near(name)
        self._starts[id(loop), near] = loop, guard(name, loop)
        return guard(near, where)

    def _is_kept(self, name: str, scope: Scope) -> bool:
        """Whether the variable `name` is bound once, outside of the loops of its function."""
        return name in scope.assigned and name not in scope.again and name not in scope.own

    def _flag(self, value: ast.Name, scope: Scope, function: Any) -> ast.expr:
        """A variable that tells whether `value` is one of the cell's own instances, from where `value` is bound on."""
        flag = f"<{value.id} is known>"
        if (id(function), flag) not in self._flags:
            self._flags.add((id(function), flag))
            nodes.bind(function, flag, constant(False, function))
            statement = scope.assigned[value.id]
            _, after = self._after.setdefault(id(statement), (statement, []))
            after.append(_bound(flag, nodes.known(placed(ast.Name(value.id, ast.Load()), value))))
        return guard(flag, value)

    def of_open(self, node: Any, scope: Scope, statement: ast.stmt | None) -> None:
        """A public attribute, free on instances of the classes in names.OPEN."""
        self._read(node, names.LOAD, scope, statement, lambda first, _: _in(first, names.OPEN))

    def template(self, node: Any, scope: Scope, statement: ast.stmt | None) -> None:
        """`value.format`: native for an exact str that was found to read public attributes only."""

        def is_public(first: ast.expr, again: ast.expr) -> ast.expr:
            return _all(_is_exact(first), _is_in(again, names.TEMPLATES))

        self._read(node, names.ATTRIBUTE, scope, statement, is_public)

    def _read(
        self,
        node: Any,
        asked: str,
        scope: Scope,
        statement: ast.stmt | None,
        test: Callable[[ast.expr, ast.expr], ast.expr],
    ) -> None:
        """The attribute of `node`, natively where `test` of its object holds; else its guard `asked` decides."""
        both = self._both(node.value, scope, statement)
        name = constant(node.attr, node)
        if both is None:
            _become_call(node, call(asked, node, node.value, name))
            return
        first, again = both
        native = placed(ast.Attribute(again, node.attr, ast.Load()), node)
        otherwise = call(asked, node, again, name)
        _become_likely(node, test(first, again), native, otherwise)

    def text(self, node: Any, scope: Scope, loop: Any) -> None:
        """`value.__name__` and the like: read as it is, and given if it is an exact str. Else its guard decides.

        A loop gives it as well if it is the text that was last found to be one, or None.
        """
        value, name = node.value, node.attr
        if not scope.holds:
            _become_call(node, call(names.TEXT_ATTRIBUTE, node, value, constant(name, node)))
            return
        native = placed(ast.Attribute(value, name, ast.Load()), node)
        first, found = held(names.KIND, native), guard(names.KIND, value)
        asked = call(names.TEXT, node, found, constant(name, node))
        _become_likely(node, self._met(first, found, _is_exact, names.LAST_TEXT, loop), found, asked)

    def of_class(self, node: Any, scope: Scope, loop: Any) -> None:
        """`value.__class__`, which is what type() gives."""
        seen = self._seen(node.value, scope, loop)
        nodes.become(node, seen.__class__, **{field: getattr(seen, field) for field in seen._fields})

    def kind(self, node: ast.Call, small: bool, named: bool, scope: Scope, loop: Any) -> None:
        """`type(value)`, unless the name stands for something else than the builtin of cells.

        Where it is `named`, only a text such as `type(value).__name__` is read, which cells may have of any class.
        """
        original = _is(node.func, self._near(names.ORIGINAL["type"], node, loop))
        value = node.args[0]
        if named:
            node.func = likely(original, self._near(names.TYPE, node, loop), node.func)
            return
        if not small:
            node.func = likely(original, guard(names.KIND_OF, node), node.func)
            return
        asked = placed(ast.Call(node.func, [value], []), node)
        _become_likely(node, original, self._seen(value, scope, loop), asked)

    def _seen(self, value: ast.expr, scope: Scope, loop: Any) -> ast.expr:
        """What type() of cells gives for `value`: its class, if that was found to be one that cells may have."""
        if scope.holds:
            first, found = held(names.KIND, self._kind(value, loop)), guard(names.KIND, value)
            test = self._met(first, found, lambda asked: _is_in(asked, names.KINDS), names.LAST_KIND, loop)
            return likely(test, found, call(names.SEEN, value, found))
        if self.fixed(value, scope):
            kind = _type(value)
            return likely(_in(value, names.KINDS), kind, call(names.SEEN, value, kind))
        return call(names.KIND_OF, value, value)

    def by_name(self, node: ast.Call, scope: Scope, loop: Any) -> None:
        """getattr(), hasattr() and setattr(): the native ones for names that have no guard.

        A variable with the name is read again behind the object, which is a variable then: no code runs in between.
        """
        function = node.func
        assert isinstance(function, ast.Name)
        tests = [_is(function, self._near(names.ORIGINAL[function.id], node, loop))]
        value, name = node.args[:2]
        if isinstance(name, ast.Constant):
            if not names.is_askable(name.value, function.id):
                return
        elif self.fixed(value, scope) and isinstance(name, ast.Name) and self.fixed(name, scope):
            tests.append(self._askable(name, scope, loop))
        else:
            return
        if function.id == "setattr":
            if not self.fixed(value, scope):
                return
            tests.append(self._own(value, value, loop))
        node.func = likely(_all(*tests), self._near(names.NATIVE[function.id], node, loop), function)

    def _askable(self, name: ast.Name, scope: Scope, loop: Any) -> ast.expr:
        """A test: is the text in the variable `name` one that needs no guard? Asked once of one that a loop keeps."""
        tests = [_is_exact(name), _is_in(name, names.ASKABLE)]
        kept = self._is_kept(name.id, scope) or (name.id in scope.own and name.id not in scope.bound)
        if loop is None or not kept:
            return _all(*tests)
        flag = f"<{name.id} is askable>"
        self._starts[id(loop), flag] = loop, constant(False, loop)
        return _any(guard(flag, name), _all(*tests, held(flag, constant(True, name))))


def mark_of(name: str) -> str:
    """A variable that a function has, and never binds, where it is relied on that `name` is a local one of it."""
    return f"<{name} is local>"


def relied_on(code: CodeType) -> bool:
    """Whether all that was taken for a local variable is one, by what Python made of the cell: see mark_of()."""
    waiting = [code]
    for each in waiting:
        waiting += [inner for inner in each.co_consts if type(inner) is CodeType]
        local = {*each.co_varnames, *each.co_cellvars}
        if any(name.endswith(" is local>") and name[1:-10] not in local for name in each.co_varnames):
            return False
    return True


def is_small(value: ast.expr) -> bool:
    """Whether `value` is a variable, or a short path of attributes and constant items of one."""
    for _ in range(_SMALL):
        if isinstance(value, ast.Name):
            return True
        item = isinstance(value, ast.Subscript) and isinstance(value.slice, (ast.Name, ast.Constant))
        if not (item or isinstance(value, ast.Attribute)):
            return False
        value = value.value  # type: ignore[attr-defined]
    return False


def held(name: str, value: ast.expr) -> ast.expr:
    """`value`, which is kept in the local variable `name`."""
    made: ast.expr = placed(ast.NamedExpr(placed(ast.Name(name, ast.Store()), value), value), value)
    return made


def _type(value: ast.expr) -> ast.expr:
    return call(names.TYPE, value, value)


def _in(value: ast.expr, kinds: str) -> ast.expr:
    return _is_in(_type(value), kinds)


def _is_in(value: ast.expr, known: str) -> ast.expr:
    made: ast.expr = placed(ast.Compare(value, [ast.In()], [guard(known, value)]), value)
    return made


def _is_exact(value: ast.expr) -> ast.expr:
    """A test: is `value` a str, and of no derived class?"""
    return _is(_type(value), guard(names.STRING, value))


def _all(*tests: ast.expr) -> ast.expr:
    if len(tests) == 1:
        return tests[0]
    made: ast.expr = placed(ast.BoolOp(ast.And(), [*tests]), tests[0])
    return made


def _any(*tests: ast.expr) -> ast.expr:
    made: ast.expr = placed(ast.BoolOp(ast.Or(), [*tests]), tests[0])
    return made


def _is(value: ast.expr, other: ast.expr) -> ast.expr:
    made: ast.expr = placed(ast.Compare(value, [ast.Is()], [other]), value)
    return made


def _is_not_none(value: ast.expr) -> ast.expr:
    made: ast.expr = placed(ast.Compare(value, [ast.IsNot()], [constant(None, value)]), value)
    return made


def _become_call(node: Any, made: ast.Call) -> None:
    nodes.become(node, ast.Call, func=made.func, args=made.args, keywords=[])


def _become_likely(node: Any, test: ast.expr, value: ast.expr, otherwise: ast.expr) -> None:
    made = likely(test, value, otherwise)
    nodes.become(node, ast.IfExp, **{field: getattr(made, field) for field in made._fields})


class Clear(ast.Assign):
    """A statement that lets go of what was held."""


def _shorter(after: ast.stmt, statement: ast.stmt) -> ast.stmt:
    """`after`, which stands behind `statement`: as a deletion, which takes half the time, if it is sure to be bound."""
    if after.__class__ is not Clear or not _surely_holds(statement):
        return after
    made: ast.stmt = placed(ast.Delete([placed(ast.Name(names.HELD, ast.Del()), after)]), after)
    return made


def _surely_holds(statement: ast.stmt) -> bool:
    """Whether HELD is bound wherever `statement` comes to its end."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name) and node.target.id == names.HELD:
            return True
        waiting += _EVALUATED.get(node.__class__, ast.iter_child_nodes)(node)
    return False


#: What is evaluated wherever these nodes are. Of all others it is each child.
_EVALUATED: dict[type[ast.AST], Callable[[Any], Iterable[ast.AST]]] = {
    ast.BoolOp: lambda node: node.values[:1],
    ast.Compare: lambda node: [node.left, node.comparators[0]],
    ast.IfExp: lambda node: [node.test],
    ast.Assert: lambda node: [node.test],
    ast.AnnAssign: lambda node: () if node.value is None else [node.target, node.value],
    **dict.fromkeys((ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), lambda _: ()),
}


def _bound(name: str, value: ast.expr, kind: type[ast.Assign] = ast.Assign) -> ast.stmt:
    made: ast.stmt = placed(kind([placed(ast.Name(name, ast.Store()), value)], value), value)
    return made


def _then(statement: Any, after: list[ast.stmt]) -> None:
    """Turn `statement` into itself and then `after`, below an `if True`, of which the compiler leaves nothing."""
    copied = placed(statement.__class__(**{field: getattr(statement, field) for field in statement._fields}), statement)
    nodes.become(statement, ast.If, test=constant(True, statement), body=[copied, *after], orelse=[])
