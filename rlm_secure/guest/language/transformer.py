"""Checks and rewrites a cell's source: RestrictedPython's rules, with guards only where a name alone cannot decide.

RestrictedPython guards every attribute load, subscript, iteration and unpacking at run time. Here a guard call
is only inserted where the check of the name at compile time does not already prove what the guard would check:

- a public attribute that is written out is a native load: safer_getattr would only repeat the checks on its name;
- subscripts, iteration, unpacking, calls and augmented assignment are native: their guards would return their argument
  unchanged in any policy without access lists per object;
- attribute stores, private and data-model attributes, `format` and similar functions, `obj`, imports and removed
  builtins go through a guard of guards.py.

The walk is iterative, so that deep nesting cannot reach the interpreter's recursion limit. It rewrites nodes in place,
in any order. A node type that is not in the table is refused.
tests/guest/test_equivalence.py compares this file with RestrictedPython, for each relaxation.
"""

from __future__ import annotations
import __future__

import ast
import copy
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import inlined, names, nodes, patterns
from .scopes import CLASS, FUNCTION, MODULE, Scope, parameters

_NOTHING: frozenset[str] = frozenset()
_MOST_FINDINGS = 20


class ScreenFinding(NamedTuple):
    """One broken rule: the node, the rule's id, and a sentence with the allowed alternative."""

    node: ast.AST
    rule: str
    message: str


class CellTransformer(RestrictingNodeTransformer):
    """The check of one cell. After `screen`, `findings` lists what is refused; if empty, the tree may be compiled.

    `flags` are the compiler flags of the cell's future statements.
    """

    #: Whether every load of an attribute has a guard: where there are objects of third-party packages.
    asks_always: ClassVar[bool] = False

    def __init__(self, nodes_limit: int) -> None:
        super().__init__()
        self.findings: list[ScreenFinding] = []
        self.flags = 0
        self._limit = nodes_limit
        self._scopes: list[Scope] = []
        self._scope: Scope
        self._removed: list[ast.Name] = []
        self._asked: list[ast.Name] = []
        self._rebound: set[str] = set()
        self._stored: set[str] = set()
        self._top: set[str] = set()
        self._loops_at_top = False
        self._sites = inlined.Sites()
        # How many nodes waited when the current node, simple statement and outermost loop were taken off the stack:
        # what belongs to a statement is walked while at least as many wait.
        self._waiting = 0
        self._statement: tuple[int, ast.stmt | None] = (0, None)
        self._loop: tuple[int, Scope | None] = (0, None)
        self._on_parameters: list[tuple[ast.Attribute, str, str, Scope, ast.stmt | None, Any]] = []
        self._generators: list[ast.GeneratorExp] = []
        self._named: set[ast.Call] = set()
        self._asynchronous = False

    def screen(self, tree: ast.Module) -> None:
        """Check and rewrite `tree`."""
        scopes, findings = self._scopes, self.findings
        scopes.append(Scope(tree.body[::-1], MODULE, None, None))
        seen, limit, load = 0, self._limit, ast.Load
        for self._scope in scopes:  # grows while it is walked
            stack, bound = self._scope.stack, self._scope.bound
            top = self._top if self._scope is scopes[0] else None
            self._statement = 0, self._scope.returned
            while stack:
                node = stack.pop()
                kind = node.__class__
                seen += 1
                if kind is ast.Name:
                    if node.ctx.__class__ is not load:
                        if node.id in bound:
                            self._scope.again.add(node.id)
                        bound.add(node.id)
                    elif top is not None:
                        top.add(node.id)
                    if node.id[0] == "_" or node.id in _WATCHED:
                        self._name(node)
                    continue
                if kind is ast.Constant or kind is nodes.Guard or node is None:
                    continue
                entry = _TABLE.get(kind)
                if entry is None:
                    self.refuse_unknown(node)
                    continue
                fields, check = entry
                waiting = len(stack)
                for field in fields:
                    child = getattr(node, field)
                    if child.__class__ is list:
                        stack += child
                    elif child.__class__ is ast.Constant:
                        seen += 1
                    elif child is not None:
                        stack.append(child)
                if seen + len(stack) > limit:
                    message = f"the cell has more than {limit} syntax nodes; split it into smaller cells"
                    findings[:] = [ScreenFinding(tree, "tree-size", message)]
                    return
                if check is not None:
                    self._waiting = waiting
                    check(self, node)
                    if len(findings) >= _MOST_FINDINGS:
                        return
        self._settle()
        if self._loops_at_top:
            self._declare(tree)

    def _settle(self) -> None:
        """Rewrite the nodes that depend on all bindings of the cell, once these are known."""
        self._stored.update(*[scope.bound for scope in self._scopes])
        for name in self._removed:
            if name.id not in self._rebound:
                asked = nodes.call(names.REMOVED, name, nodes.constant(name.id, name))
                nodes.become(name, ast.Call, func=asked.func, args=asked.args, keywords=[])
        for name in self._asked:
            if "BaseException" not in self._stored:
                name.id = names.ANY_EXCEPTION
        if self._asynchronous:
            self._no_async_generators()
        of_parameters: dict[tuple[Any, str], list[Any]] = {}
        for site in self._on_parameters:
            value, function = site[0].value, site[3].function
            if not isinstance(value, ast.Name) or function is None or value.id in self._stored:
                self._sites.add(self._sites.of_own, *site)
            else:
                of_parameters.setdefault((function, value.id), []).append(site)
        for (function, parameter), sites in of_parameters.items():
            _, _, _, scope, _, loop = sites[0]
            asked_once = len(sites) == 1 and scope.is_body and loop is None
            # The parameter is never bound again, so its class is tested once: at its use, or as the function starts.
            flag = f"<{parameter} is known>"
            if not asked_once:
                nodes.bind(function, flag, nodes.known(sites[0][0].value))
            for node, asks, attribute, *_ in sites:
                value = node.value
                test = nodes.known(value) if asked_once else nodes.guard(flag, node)
                node.value = nodes.likely(test, value, nodes.call(asks, node, value, nodes.constant(attribute, node)))
        self._sites.settle()

    def _declare(self, tree: ast.Module) -> None:
        """Declare the names at the top of the cell as global, which they are: loops there find them faster."""
        declared = [name for name in self._top if not name.startswith("__")]
        if self._sites:
            declared += names.IN_BODIES
        if declared:
            statement = nodes.placed(ast.Global(declared), tree.body[0])
            tree.body.insert(int(len(tree.body) > 1 and nodes.is_docstring(tree.body[0])), statement)

    def error(self, node: ast.AST, info: str) -> None:
        """Called by RestrictedPython for a node type that it does not know, or always refuses."""
        self.refuse(node, "unknown-syntax", f"{info} Write it with plainer Python")

    def refuse(self, node: ast.AST, rule: str, message: str) -> None:
        """Record a broken rule."""
        self.findings.append(ScreenFinding(node, rule, message))

    def refuse_unknown(self, node: ast.AST) -> None:
        """Record a node type that was not reviewed."""
        self.generic_visit(node)

    def walk(self, node: ast.AST) -> None:
        """Check `node` and its children later, as part of the current scope."""
        self._scope.stack.append(node)

    @property
    def in_class_body(self) -> bool:
        """Whether the current scope is the body of a class."""
        return self._scope.kind == CLASS

    def _simple(self, node: ast.stmt) -> None:
        self._statement = self._waiting, node

    def _assigned(self, node: ast.Assign) -> None:
        self._simple(node)
        scope = self._scope
        if not scope.holds or self._in_loop():
            return
        for target in node.targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name):
                    scope.assigned[each.id] = node

    def _in_loop(self) -> bool:
        waiting, scope = self._loop
        return scope is self._scope and self._waiting >= waiting

    def _looped(self, _node: ast.stmt) -> None:
        self._loops_at_top |= self._scope is self._scopes[0]
        waiting, scope = self._loop
        if scope is not self._scope or self._waiting < waiting:
            self._loop = self._waiting, self._scope

    def _looping(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function of the current node, where that is in a loop of it."""
        return self._scope.function if self._in_loop() else None

    def _current(self) -> ast.stmt | None:
        """The simple statement that the current node belongs to, if it belongs to one."""
        waiting, statement = self._statement
        return statement if self._waiting >= waiting else None

    # Names

    def _call(self, node: ast.Call) -> None:
        """Note calls of builtins that are compiled otherwise: inlined.py, and isinstance() and issubclass().

        Where these two are asked about BaseException, which elsewhere is Exception, what asks gets a stand-in, of which
        SystemExit is a subclass as well.
        """
        function = node.func
        if not isinstance(function, ast.Name) or function.id not in _COMPILED:
            return
        if function.id in names.ORIGINAL:
            counts = _COMPILED[function.id]
            if len(node.args) not in counts or node.keywords or any(map(_is_starred, node.args)):
                return
            if function.id == "type":
                small, named = inlined.is_small(node.args[0]), node in self._named
                self._sites.add(self._sites.kind, node, small, named, self._scope, self._looping())
            elif not self.asks_always:
                self._sites.add(self._sites.by_name, node, self._scope, self._looping())
        elif len(node.args) == 2:
            asked = node.args[1]
            each = asked.elts if isinstance(asked, ast.Tuple) else [asked]
            self._asked += [name for name in each if isinstance(name, ast.Name) and name.id == "BaseException"]

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self._check_bound(node, name, _BINDABLE[self._scope.kind])
        elif name in names.ABSENT:
            self._removed.append(node)
        elif names.is_dunder(name):
            readable = name == "__name__" or name in names.MODULE_LEVEL
            if not readable and not (self._scope.kind != MODULE and name in names.DEFINABLE):
                self.refuse(
                    node,
                    "dunder-name",
                    f"the name {names.shown(name)} belongs to the interpreter; {names.advice(name)}",
                )
        elif name in names.HOOKS:
            self._refuse_hook(node, name)

    def bind(self, node: ast.AST, name: str | None, dunders: frozenset[str] = _NOTHING) -> None:
        """Check a name that the cell binds, in any syntax. Dunder names in `dunders` are allowed."""
        if name is None:
            return
        self._scope.bind(name)
        self._check_bound(node, name, dunders)

    def _check_bound(self, node: ast.AST, name: str, dunders: frozenset[str] = _NOTHING) -> None:
        if name in names.HOOKS:
            self._refuse_hook(node, name)
        elif names.is_dunder(name):
            if name not in dunders:
                self.refuse(
                    node, "dunder-name", f"the name {names.shown(name)} cannot be bound here; {names.advice(name)}"
                )
        elif name in names.REMOVED_BUILTINS:
            self._rebound.add(name)

    def _refuse_hook(self, node: ast.AST, name: str) -> None:
        self.refuse(node, "hook-name", f"the name {names.shown(name)} is reserved; choose another name")

    def _declaration(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.bind(node, name)
        self._sites.shared.update(node.names)

    def _argument(self, node: ast.arg) -> None:
        self._check_bound(node, node.arg)
        self._annotated(node)

    def _annotated(self, node: ast.arg | ast.AnnAssign) -> None:
        if isinstance(node, ast.AnnAssign):
            self._simple(node)
            if isinstance(node.target, ast.Name) and not node.simple and node.value is None:
                self._sites.shared.add(node.target.id)  # `(x): int` does not make `x` local
        self._annotation(node.annotation)

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            # What becomes a text is only checked: it says what the cell says.
            is_text = self.flags & __future__.annotations.compiler_flag
            self._scopes.append(self._scope.part(copy.deepcopy(node) if is_text else node))

    def _walrus(self, node: ast.NamedExpr) -> None:
        if self._scope.is_comprehension and isinstance(node.target, ast.Name):
            self._sites.shared.add(node.target.id)  # a variable of the scope around it

    def _lambda(self, node: ast.Lambda) -> None:
        # For the function around it, whose parameter of the same name is another variable.
        self._stored.update(parameters(node))
        self._scopes.append(self._scope.of_lambda(node))

    def _handler(self, node: ast.ExceptHandler) -> None:
        self.bind(node, node.name)
        if node.type is None:
            # A bare `except:` would catch the worker's own interrupt.
            node.type = nodes.guard(names.EXCEPTION, node)

    # Attributes

    def _attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        loads = isinstance(node.ctx, ast.Load)
        if not names.is_private(name):
            if name in names.CLOSED:
                self._refuse_attribute(node, "closed-attribute")
            elif not loads:
                self._wrap(node, names.STORE, name)
            elif name in names.OF_CONTEXTS or (
                name in names.GUARDED and (self.asks_always or not _public_template(node))
            ):
                self._ask(node)
            elif self.asks_always:
                self._ask_unless_open(node)
        elif names.is_dunder(name):
            if loads:
                self._dunder_load(node)
            elif name in names.RENAMABLE:
                # f.__name__ = v becomes <rename>(f)["__name__"] = v, in any kind of target.
                holder = nodes.call(names.RENAME, node, node.value)
                nodes.become(node, ast.Subscript, value=holder, slice=nodes.constant(name, node))
            elif name in names.DEFINABLE:
                self._wrap(node, names.STORE, name)
            else:
                self._refuse_attribute(node, "dunder-attribute")
        elif name in names.HOOKS:
            self._refuse_hook(node, name)
        else:
            self._wrap(node, names.PRIVATE, names.mangled(name, self._scope.owner))

    def _dunder_load(self, node: ast.Attribute) -> None:
        name, value = node.attr, node.value
        if name not in names.READABLE:
            self._refuse_attribute(node, "dunder-attribute")
            return
        if name in names.TEXTS and isinstance(value, ast.Attribute) and value.attr == "__class__":
            # x.__class__.__name__ is type(x).__name__: text, for any x.
            kind = nodes.call(names.TYPE, value, value.value)
            nodes.become(value, ast.Call, func=kind.func, args=kind.args, keywords=[])
        elif name in _OF_ANY_CLASS and isinstance(value, ast.Call):
            self._named.add(value)
        if self.asks_always or name not in _INLINED:
            self._ask(node)
        elif name == "__class__":
            self._sites.add(self._sites.of_class, node, self._scope, self._looping())
        else:
            self._sites.add(self._sites.text, node, self._scope, self._looping())

    def _refuse_attribute(self, node: ast.Attribute, rule: str) -> None:
        self.refuse(node, rule, f"the attribute {names.shown(node.attr)} is closed to cells; {names.advice(node.attr)}")

    def _ask(self, node: ast.Attribute) -> None:
        """Replace a load by a call of the guard that also implements getattr()."""
        if node.attr in ("format", "format_map") and not self.asks_always:
            self._sites.add(self._sites.template, node, self._scope, self._current())
            return
        asked = nodes.call(names.ATTRIBUTE, node, node.value, nodes.constant(node.attr, node))
        nodes.become(node, ast.Call, func=asked.func, args=asked.args, keywords=[])

    def _ask_unless_open(self, node: ast.Attribute) -> None:
        """Replace a load of a public name by a call of a guard, unless the object's class is open for all of them."""
        self._sites.add(self._sites.of_open, node, self._scope, self._current())

    def _wrap(self, node: ast.Attribute, guard: str, name: str) -> None:
        """Insert a call of `guard`, which returns the object or raises, before the attribute is accessed.

        The guard is not called for instances of the cell's own classes.
        """
        value, function = node.value, self._scope.function
        if names.is_dunder(name):
            node.value = nodes.call(guard, node, value, nodes.constant(name, node))
            return
        site = node, guard, name, self._scope, self._current(), self._looping()
        named = value.id if isinstance(value, ast.Name) else ""
        if function is not None and named in self._scope.parameters and not names.has_spellings(named):
            self._on_parameters.append(site)
        else:
            self._sites.add(self._sites.of_own, *site)

    def _augmented(self, node: ast.AugAssign) -> None:
        """Rewrite `x.name += y`, which reads and stores, as `<operated>(x)["name"] += y` where reading has a guard."""
        self._simple(node)
        target = node.target
        if isinstance(target, ast.Attribute) and (self.asks_always or target.attr in _READ_BY_GUARD):
            holder = nodes.call(names.OPERATED, target, target.value)
            nodes.become(target, ast.Subscript, value=holder, slice=nodes.constant(target.attr, target))

    def _subscript(self, node: ast.Subscript) -> None:
        """Rewrite a store or deletion of `globals()[name]`, which is a copy, as one of `<namespace>(globals)[name]`."""
        held = node.value
        if isinstance(node.ctx, ast.Load) or not isinstance(held, ast.Call):
            return
        if isinstance(held.func, ast.Name) and held.func.id == "globals" and not held.args and not held.keywords:
            node.value = nodes.call(names.NAMESPACE, held, held.func)

    # Imports: no IMPORT_NAME instruction is ever compiled; each import becomes an assignment of a guard's result.

    def _import(self, node: ast.Import) -> None:
        bound = [(alias.asname or alias.name.partition(".")[0], alias) for alias in node.names]
        values: list[ast.expr] = []
        for name, alias in bound:
            self._imported(node, alias.name, name)
            whole = nodes.constant(alias.asname is not None, node)
            values.append(nodes.call(names.IMPORT, node, nodes.constant(alias.name, node), whole))
        _assign(node, [name for name, _ in bound], values)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level:
            self.refuse(node, "relative-import", "a cell is in no package; import a module by its full name")
            return
        if node.module == "__future__":
            self._future(node)
            return
        if node.names[0].name == "*":
            self._import_all(node)
            return
        values: list[ast.expr] = []
        for alias in node.names:
            self._imported(node, alias.name, alias.asname or alias.name)
            module, name = nodes.constant(node.module or "", node), nodes.constant(alias.name, node)
            values.append(nodes.call(names.IMPORT_FROM, node, module, name))
        _assign(node, [alias.asname or alias.name for alias in node.names], values)

    def _import_all(self, node: ast.ImportFrom) -> None:
        if self._scope.kind != MODULE:
            self.refuse(node, "star-import", "`import *` stands only at the top of a cell; import the names you use")
        name = node.module or ""
        nodes.become(node, ast.Expr, value=nodes.call(names.IMPORT_ALL, node, nodes.constant(name, node)))

    def _imported(self, node: ast.stmt, name: str, bound: str) -> None:
        if any(part.startswith("_") for part in name.split(".")):
            self.refuse(node, "private-import", f"{names.shown(name)} is private; import a public name")
        else:
            self.bind(node, bound)

    def _future(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "annotations":
                self.flags |= __future__.annotations.compiler_flag
            elif alias.name not in _PAST_FEATURES:
                self.refuse(node, "future-import", f"__future__.{alias.name} is not supported; leave it out")
        nodes.become(node, ast.Pass)

    # Functions and classes

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        # In a function such a name is an ordinary variable. Class decorators define methods there.
        self.bind(node, node.name, _NOTHING if self._scope.kind == MODULE else names.DEFINABLE)
        self._type_parameters(node)
        self._statement = 0, None
        self._annotation(node.returns)
        self._scopes.append(Scope(node.body[::-1], FUNCTION, self._scope.owner, node))

    def _class(self, node: ast.ClassDef) -> None:
        self.bind(node, node.name)
        self._type_parameters(node)
        self._statement = 0, None
        if any(keyword.arg == "metaclass" and not _may_be_abc(keyword.value) for keyword in node.keywords):
            self.refuse(
                node,
                "metaclass",
                "metaclasses are not supported; derive from abc.ABC or enum.Enum, or use a class decorator",
            )
        self._scopes.append(Scope(node.body[::-1], CLASS, node.name, None))
        nodes.bind(node, names.REGISTRAR, nodes.guard(names.REGISTRAR, node))
        nodes.insert(node, nodes.placed(ast.Global([*names.IN_BODIES]), node))

    def _type_parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if getattr(node, "type_params", None):
            self.refuse(node, "type-parameters", "type parameters are not supported; use typing.TypeVar")

    def _match(self, node: ast.Match) -> None:
        self._statement = 0, None
        patterns.screen_match(self, node)

    # Coroutines. Asynchronous generators are refused: their objects have methods and states that nobody reviewed.

    def _async(self, _node: ast.AST) -> None:
        self._asynchronous = True
        if self._scope.kind == MODULE:
            self.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    def _await(self, node: ast.Await) -> None:
        self._async(node)
        node.value = nodes.call(names.AWAITED, node, node.value)

    def _async_for(self, node: ast.AsyncFor) -> None:
        self._async(node)
        self._looped(node)

    def _comprehension(self, node: ast.comprehension) -> None:
        if node.is_async:
            self._async(node)

    def _comprehended(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        parts: list[Any] = [*node.generators]
        parts += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = self._scope.inner(parts, at_once=not isinstance(node, ast.GeneratorExp))
        self._scopes.append(inner)
        around = self._scope
        for each in node.generators:
            self._scopes.append(around.part(each.iter))
            around = inner

    def _generator(self, node: ast.GeneratorExp) -> None:
        self._generators.append(node)
        self._comprehended(node)

    def _yield(self, node: ast.Yield) -> None:
        if isinstance(self._scope.function, ast.AsyncFunctionDef):
            self._refuse_async_generator(node)

    def _no_async_generators(self) -> None:
        """Refuse generator expressions that await."""
        seen: set[ast.AST] = set()
        for generator in self._generators:
            for node in ast.walk(generator):
                if node in seen:
                    continue  # also below a generator that was walked before
                seen.add(node)
                if isinstance(node, ast.Await) or (isinstance(node, ast.comprehension) and node.is_async):
                    self._refuse_async_generator(generator)
                    break

    def _refuse_async_generator(self, node: ast.AST) -> None:
        self.refuse(node, "async-generator", "asynchronous generators are not supported; collect a list and return it")

    # Syntax that is always refused

_WATCHED = names.ABSENT
#: Attributes that cells can set, and whose loads need a guard. Private ones have the same guard for both.
_READ_BY_GUARD = names.GUARDED | names.OF_CONTEXTS | names.DEFINABLE
#: Texts that every class has, and that are read without asking whether a cell may have the class itself.
_OF_ANY_CLASS = frozenset({"__name__", "__qualname__", "__module__"})
#: Data-model attributes that are compiled in line.
_INLINED = names.TEXTS | {"__class__"}
#: Builtins whose calls are compiled otherwise, and how many arguments such a call has.
_COMPILED = {
    "type": (1,), "getattr": (2, 3), "hasattr": (2,), "setattr": (3,), "isinstance": (2,), "issubclass": (2,),
}  # fmt: skip
_BINDABLE = {MODULE: names.MODULE_LEVEL, CLASS: names.CLASS_LEVEL, FUNCTION: _NOTHING}
_PAST_FEATURES = frozenset(__future__.all_feature_names) - {"annotations", "barry_as_FLUFL"}


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _may_be_abc(node: ast.expr) -> bool:
    """Whether `node` is written like abc.ABCMeta, the only metaclass that the guard of class statements accepts."""
    return getattr(node, "id", None) == "ABCMeta" or getattr(node, "attr", None) == "ABCMeta"


def _public_template(node: ast.Attribute) -> bool:
    """Whether `node` is `"literal".format`, and the literal only reads public attributes."""
    value = node.value
    if node.attr not in ("format", "format_map") or not isinstance(value, ast.Constant):
        return False
    if type(value.value) is not str:
        return False
    try:
        return all(map(names.is_public, names.format_walks(value.value)))
    except ValueError:
        return False


def _assign(node: ast.stmt, bound: list[str], values: list[ast.expr]) -> None:
    targets: list[ast.expr] = [nodes.placed(ast.Name(name, ast.Store()), node) for name in bound]
    target, value = targets[0], values[0]
    if len(targets) > 1:
        target = nodes.placed(ast.Tuple(targets, ast.Store()), node)
        value = nodes.placed(ast.Tuple(values, ast.Load()), node)
    nodes.become(node, ast.Assign, targets=[target], value=value, type_comment=None)


_Check = Callable[[CellTransformer, Any], None]
_TABLE: dict[type, tuple[tuple[str, ...], _Check | None]] = {}
_SKIPPED = names.words("ctx op ops type_comment simple conversion arg")


def _accept(kinds: str) -> None:
    """Accept node types that RestrictedPython accepts unchanged, or only gives guards that are left out here."""
    for name in kinds.split():
        kind = getattr(ast, name)
        _TABLE[kind] = (tuple(field for field in kind._fields if field not in _SKIPPED), None)


def _check(name: str, fields: str, check: _Check) -> None:
    """Register a check for a node type; its `fields` are walked in the same scope."""
    _TABLE[getattr(ast, name)] = (tuple(fields.split()), check)


_accept(
    "Pass Break Continue If With withitem Try TryStar "
    "BinOp UnaryOp BoolOp Compare IfExp arguments keyword Starred YieldFrom "
    "List Tuple Set Dict JoinedStr FormattedValue Slice"
)
for _simple_one, _fields in (("Expr", "value"), ("Delete", "targets"), ("Return", "value"),
                             ("Raise", "exc cause"), ("Assert", "test msg")):  # fmt: skip
    _check(_simple_one, _fields, CellTransformer._simple)
_check("Assign", "targets value", CellTransformer._assigned)
_check("AnnAssign", "target value", CellTransformer._annotated)
_check("For", "target iter body orelse", CellTransformer._looped)
_check("While", "test body orelse", CellTransformer._looped)
_check("NamedExpr", "target value", CellTransformer._walrus)
for _kind_of_comprehension in ("ListComp", "SetComp", "DictComp"):
    _check(_kind_of_comprehension, "", CellTransformer._comprehended)
_check("Call", "func args keywords", CellTransformer._call)
_check("Attribute", "value", CellTransformer._attribute)
_check("AugAssign", "target value", CellTransformer._augmented)
_check("Subscript", "value slice", CellTransformer._subscript)
_check("comprehension", "target ifs", CellTransformer._comprehension)
_check("arg", "", CellTransformer._argument)
_check("Lambda", "args", CellTransformer._lambda)
_check("Global", "", CellTransformer._declaration)
_check("Nonlocal", "", CellTransformer._declaration)
_check("ExceptHandler", "type body", CellTransformer._handler)
_check("Import", "names", CellTransformer._import)
_check("ImportFrom", "names", CellTransformer._import_from)
_check("FunctionDef", "decorator_list args", CellTransformer._function)
_check("ClassDef", "decorator_list bases keywords", CellTransformer._class)
_check("Match", "subject cases", CellTransformer._match)
_TABLE[ast.match_case] = (("guard", "body"), None)
_TABLE[ast.alias] = ((), None)
_check("AsyncFunctionDef", "decorator_list args", CellTransformer._function)
_check("AsyncFor", "target iter body orelse", CellTransformer._async_for)
_check("AsyncWith", "items body", CellTransformer._async)
_check("Await", "value", CellTransformer._await)
_check("GeneratorExp", "", CellTransformer._generator)
_check("Yield", "value", CellTransformer._yield)

# Operators are not walked, so an operator of a new Python version must not be accepted without review.
_REVIEWED = names.words(
    "Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub And Or "
    "Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Load Store Del AugLoad AugStore Param"
)
for _family in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context):
    for _kind in _family.__subclasses__():
        if _kind.__name__ not in _REVIEWED:
            raise ImportError(f"Python's operator {_kind.__name__} was never reviewed; use an older Python.")
