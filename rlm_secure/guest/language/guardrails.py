"""What the text of an analysis does that it was not asked to do, found in its syntax tree before it runs.

It is advice to the model that wrote the text, and no boundary: a text can do anything in a way that is not looked for
here. What a cell may do is limited by the walls, and whether a table was changed is seen by the host, which compares it
afterwards. A false finding costs a whole reply of a model, so whatever is in doubt is no finding.

The walk is iterative and goes through the text in its order, so that what a name means is known where it is used. A
table is also what a plain assignment took from one (`rows = columns["a"]`); it is none where a copy was made
(`.copy()`, `list(...)`, `df[df.x > 1]`), and no longer one where its name was bound to something else. What is
assigned from a part of a DataFrame is a copy of it (pandas 3), and from a part of a dict the list itself: a name of a
part is changed by what lists have alone. A text that edits has more tables, as there the doubt is whether it does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from . import names
from .scopes import CLASS, FUNCTION, MODULE, parameters

MOST_FINDINGS: Final = 20
#: Characters of a message. The host refuses longer ones.
MOST_TEXT: Final = 400
#: Reasons, in the order in which findings of one line are told.
REASONS: Final = (
    "syntax", "import", "forbidden_call", "read_mutation", "missing_result", "missing_edit", "missing_filter",
    "language",
)  # fmt: skip

_COMPREHENSION = "comprehension"
#: Links of a chain such as a.b[0].c that are followed, and names that are kept for tables: the rest is in doubt.
_MOST_LINKS = 64
_MOST_ALIASES = 100

_words = names.words
#: Methods that change their object in place.
_MUTATORS = _words("insert pop update append extend remove clear sort reverse setdefault popitem")
#: Those that lists have.
_LIST_MUTATORS = _words("insert pop append extend remove clear sort reverse")
#: Attributes of a table whose objects never change: what is called on them gives another one.
_IMMUTABLE = _words("columns index axes")
#: Attributes whose subscripts are copies, as far as one can say.
_SELECTORS = _words("loc iloc")
#: Methods that select by a condition, or look a value up.
_CONDITIONS = _words(
    "query isin where mask filter contains startswith endswith match fullmatch search findall between isna isnull "
    "notna notnull eq ne lt le gt ge dropna get get_group get_loc xs compress intersection difference"
)
#: Methods that do so if they are given something.
_LOOKUPS = _words("count index")
#: Calls whose results have values of the table as keys.
_GROUPINGS = _words(
    "groupby value_counts Counter pivot pivot_table crosstab set_index to_dict defaultdict dict unstack stack"
)
#: Calls whose results hold what they are given.
_CARRIERS = _words("enumerate zip list tuple dict sorted reversed iter map filter")
#: Its last word is forbidden by default, and it makes no code.
_HARMLESS = "re.compile"


class Guardrail(NamedTuple):
    """One finding: a reason of REASONS, a sentence that a model can act on, and a line, 0 where the whole is meant."""

    reason: str
    message: str
    line: int


class Rules(NamedTuple):
    """What is looked for: see `of`."""

    result: str
    tables: frozenset[str]
    imports: bool
    forbidden: frozenset[str]
    edits: bool
    filters: bool

    @classmethod
    def of(cls, given: object) -> Rules:
        """The rules of a request: an object with exactly these keys.

        `result` is the name that the text must bind ("": none), `table` lists the names of the table, `imports` allows
        import statements, `forbidden_calls` lists names of calls, `mode` is "read" (the table must stay as it is) or
        "edit" (it must be changed), and `filter` asks for a condition. Raises ValueError for anything else.
        """
        if not isinstance(given, Mapping) or given.keys() != _KINDS.keys():
            raise ValueError(f"rules are an object with the keys {', '.join(_KINDS)}")
        for key, kind in _KINDS.items():
            value = given[key]
            if type(value) is not kind or (type(value) is list and not all(type(each) is str for each in value)):
                wanted = "a list of texts" if kind is list else f"of the type {kind.__name__}"
                raise ValueError(f"rules.{key} is {wanted}")
        if given["mode"] not in ("read", "edit"):
            raise ValueError("rules.mode is read or edit")
        forbidden, tables = frozenset(given["forbidden_calls"]), frozenset(given["table"])
        return cls(given["result"], tables, given["imports"], forbidden, given["mode"] == "edit", given["filter"])


_KINDS: Final = {"result": str, "table": list, "imports": bool, "forbidden_calls": list, "mode": str, "filter": bool}


def ordered(found: list[Guardrail]) -> list[Guardrail]:
    """The first findings, by line."""
    return sorted(found, key=lambda each: (each.line, REASONS.index(each.reason)))[:MOST_FINDINGS]


def findings(tree: ast.Module, rules: Rules, nodes_limit: int) -> list[Guardrail] | None:
    """What `tree` does against `rules`, or None if it has more than `nodes_limit` nodes. `tree` stays as it is."""
    reader = _Reader(rules)
    return reader.findings() if reader.read(tree, nodes_limit) else None


class _Scope:
    """A body: its kind, the names that mean the table in it, its global names, and its function."""

    __slots__ = ("function", "globals", "kind", "outer", "tables")

    def __init__(self, kind: str, tables: set[str], outer: _Scope | None = None, function: str = "") -> None:
        self.kind = kind
        self.tables = tables
        self.outer = outer
        self.globals: set[str] = set()
        self.function = function


class _Later(NamedTuple):
    """A step between two nodes of the walk."""

    step: Callable[[], object]


class _Reader:
    """One walk through a tree."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._parts = max(name.count(".") + 1 for name in (*rules.forbidden, _HARMLESS))
        self._found: list[Guardrail] = []
        self._stack: list[tuple[Any, _Scope]] = []
        self._bound: set[str] = set()  # names that the module level binds
        self._through: dict[str, set[str]] = {}  # functions -> the global names that they bind
        self._called: set[str] = set()
        self._stored: set[str] = set()  # names that anything binds
        self._mentioned: dict[str, int] = {}  # forbidden names that are passed on -> the first line
        self._pieces: set[str] = set()  # names of tables that are parts of one
        self._keys: set[str] = set()  # names that are keys of a table, and no condition
        self._groups: set[str] = set()  # names of results that have values as keys
        self._condition = self._changed = False

    def read(self, tree: ast.Module, nodes_limit: int) -> bool:
        """Walk through `tree`. Returns whether it has at most `nodes_limit` nodes."""
        stack = self._stack
        stack.append((tree, _Scope(MODULE, set(self._rules.tables))))
        seen = 0
        while stack:
            node, scope = stack.pop()
            if node.__class__ is _Later:
                node.step()
                continue
            seen += 1
            if seen > nodes_limit:
                return False
            visit = _VISITS.get(node.__class__)
            if visit is None:
                self._into(node, scope)
            else:
                visit(self, node, scope)
        return True

    def findings(self) -> list[Guardrail]:
        """What was found, once all was read."""
        rules, found = self._rules, self._found
        for name, line in self._mentioned.items():
            if name not in self._stored:
                self._forbidden(name, line)
        for function, bound in self._through.items():
            if function in self._called:
                self._bound |= bound
        if rules.result and rules.result not in self._bound:
            said = f"the code never assigns {names.shown(rules.result)}; assign the answer to it at the top level"
            found.append(Guardrail("missing_result", said, 0))
        if rules.edits and not self._changed and not self._bound & rules.tables:
            said = f"the code changes nothing in the table; change {self._tables()}, or bind it anew"
            found.append(Guardrail("missing_edit", said, 0))
        if rules.filters and not self._condition:
            said = "the question asks for some of the rows, and the code has no condition; select these rows first"
            found.append(Guardrail("missing_filter", said, 0))
        return ordered(found)

    def _tables(self) -> str:
        return " or ".join(map(names.shown, sorted(self._rules.tables)[:3])) or "it"

    def _add(self, reason: str, line: int, message: str) -> None:
        if len(self._found) < MOST_FINDINGS:
            self._found.append(Guardrail(reason, message, line))

    # The walk

    def _into(self, node: ast.AST, scope: _Scope, *fields: str) -> None:
        """Visit the children of `node`, or those in `fields`, in this order, before anything that waits."""
        children: list[Any] = []
        for field in fields or node._fields:
            child = getattr(node, field, None)
            children += child if isinstance(child, list) else [child]
        self._stack += [
            (each, scope)
            for each in reversed(children)
            if isinstance(each, ast.AST) and each.__class__ not in _LEAVES
        ]

    def _then(self, scope: _Scope, step: Callable[[], object]) -> None:
        """Do `step` when everything is done that is put before anything that waits from now on."""
        self._stack.append((_Later(step), scope))

    # Names

    def _name(self, node: ast.Name, scope: _Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._called.add(node.id)  # what is passed on is called there
            if node.id in self._rules.forbidden:
                self._mentioned.setdefault(node.id, node.lineno)
        else:
            self._bind(node.id, scope, deleted=isinstance(node.ctx, ast.Del))

    def _bind(self, name: str | None, scope: _Scope, *, deleted: bool = False, counts: bool = True) -> None:
        """Note that `name` is bound to something else. `counts` says whether that may be a result."""
        if name is None:
            return
        self._stored.add(name)
        self._keys.discard(name)
        self._pieces.discard(name)
        self._groups.discard(name)
        scope.tables.discard(name)
        if deleted or not counts:
            return
        if scope.kind == MODULE:
            self._bound.add(name)
        elif name in scope.globals:
            self._through.setdefault(scope.function, set()).add(name)

    def _global(self, node: ast.Global, scope: _Scope) -> None:
        scope.globals.update(node.names)

    def _handler(self, node: ast.ExceptHandler, scope: _Scope) -> None:
        self._bind(node.name, scope, counts=False)  # it is deleted at the end of the handler
        self._into(node, scope)

    def _captured(self, node: ast.MatchAs | ast.MatchStar, scope: _Scope) -> None:
        self._bind(node.name, scope)
        self._into(node, scope)

    def _rest(self, node: ast.MatchMapping, scope: _Scope) -> None:
        self._bind(node.rest, scope)
        self._into(node, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope) -> None:
        if not self._rules.imports:
            which = node.names[0].name if isinstance(node, ast.Import) else node.module or "."
            said = f"the code imports {names.shown(which)}; leave imports out and use the names that are there"
            self._add("import", node.lineno, said)
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], scope, counts=False)

    # Bodies

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        self._bind(node.name, scope, counts=False)
        self._into(node, self._inner(FUNCTION, scope, parameters(node), node.name), "body")
        self._into(node, scope, "decorator_list", "args", "returns")

    def _lambda(self, node: ast.Lambda, scope: _Scope) -> None:
        self._into(node, self._inner(FUNCTION, scope, parameters(node)), "body")
        self._into(node, scope, "args")

    def _inner(self, kind: str, scope: _Scope, own: frozenset[str], function: str = "") -> _Scope:
        self._stored |= own
        if self._rules.edits and kind == FUNCTION and len(scope.tables) + len(own) < _MOST_ALIASES:
            return _Scope(kind, scope.tables | own, scope, function)  # a parameter may be the table
        return _Scope(kind, scope.tables - own, scope, function)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        self._bind(node.name, scope, counts=False)
        self._called.add(node.name)  # its body runs where it stands
        self._into(node, _Scope(CLASS, set(scope.tables), scope, node.name), "body")
        self._into(node, scope, "decorator_list", "bases", "keywords")

    def _comprehension(self, node: Any, scope: _Scope) -> None:
        targets = frozenset(_bound([each.target for each in node.generators]))
        inner = self._inner(_COMPREHENSION, scope, targets)
        fields = ("key", "value") if isinstance(node, ast.DictComp) else ("elt",)
        self._into(node, inner, *fields)
        self._into(node, inner, "generators")

    def _generator(self, node: ast.comprehension, scope: _Scope) -> None:
        self._condition = self._condition or bool(node.ifs)
        self._loop(node, scope, "ifs")

    def _for(self, node: ast.For | ast.AsyncFor, scope: _Scope) -> None:
        self._loop(node, scope, "body", "orelse")

    def _loop(self, node: Any, scope: _Scope, *fields: str) -> None:
        """Visit a loop: its iterable, its targets, and the `fields` in it."""
        bound = _bound([node.target])
        alias = self._rules.edits and self._holds_table(node.iter, scope)

        def known() -> None:
            self._keys.update(bound)
            if alias:
                self._alias(bound, scope)

        self._into(node, scope, *fields)
        self._then(scope, known)
        self._into(node, scope, "iter", "target")

    # Assignments

    def _assign(self, node: ast.Assign, scope: _Scope) -> None:
        self._assigned(node, node.targets, node.value, scope, "targets")

    def _annotated(self, node: ast.AnnAssign, scope: _Scope) -> None:
        if node.value is not None:
            self._assigned(node, [node.target], node.value, scope, "annotation", "target")

    def _walrus(self, node: ast.NamedExpr, scope: _Scope) -> None:
        while scope.kind == _COMPREHENSION and scope.outer is not None:
            scope = scope.outer
        self._assigned(node, [node.target], node.value, scope, "target")

    def _assigned(self, node: ast.AST, targets: list[Any], value: ast.expr, scope: _Scope, *fields: str) -> None:
        if self._rules.edits:
            bound, alias = _bound(targets), self._holds_table(value, scope)
        else:
            bound = [each.id for each in targets if isinstance(each, ast.Name)]
            alias = not isinstance(value, ast.Attribute) and self._is_table(value, scope)
        piece = self._is_piece(value) or (not isinstance(value, ast.Name) and self._is_table(value, scope))
        group = self._is_group(value)

        def known() -> None:
            if piece:
                self._pieces.update(bound)
            if alias:
                self._alias(bound, scope)
            elif isinstance(value, ast.Constant):
                self._keys.update(bound)
            elif group:
                self._groups.update(bound)

        self._then(scope, known)
        self._into(node, scope, *fields)
        self._into(node, scope, "value")

    def _alias(self, bound: list[str], scope: _Scope) -> None:
        if len(scope.tables) < _MOST_ALIASES:
            scope.tables.update(bound)

    def _augmented(self, node: ast.AugAssign, scope: _Scope) -> None:
        target = node.target
        if isinstance(target, ast.Name) and target.id in scope.tables:
            if self._rules.edits or target.id in self._rules.tables:  # another name may be a number out of it
                self._change(node)
            self._then(scope, lambda: self._alias([target.id], scope))
        self._into(node, scope, "target")
        self._into(node, scope, "value")

    # Tables

    def _holds_table(self, node: ast.expr, scope: _Scope) -> bool:
        """Whether a table can be reached by `node`, as by a list or an iterator of its parts."""
        waiting: list[ast.expr | None] = [node]
        for _ in range(_MOST_LINKS):
            if not waiting:
                return False
            node = waiting.pop() or node
            if self._is_table(node, scope):
                return True
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                waiting += node.elts
            elif isinstance(node, ast.Dict):
                waiting += node.values
            elif isinstance(node, ast.Starred):
                waiting.append(node.value)
            elif isinstance(node, ast.IfExp):
                waiting += node.body, node.orelse
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CARRIERS:
                waiting += node.args
            elif isinstance(node, ast.ListComp | ast.GeneratorExp):
                waiting += node.elt, *(each.iter for each in node.generators)
            elif isinstance(node, ast.DictComp):
                waiting += node.value, *(each.iter for each in node.generators)
        return False

    def _change(self, node: ast.expr | ast.stmt) -> None:
        """Note that `node` changes a table in place."""
        self._changed = True
        if not self._rules.edits:
            said = f"the code changes the table in place; leave {self._tables()} as it is and work on a copy"
            self._add("read_mutation", node.lineno, said)

    def _attribute(self, node: ast.Attribute, scope: _Scope) -> None:
        if not isinstance(node.ctx, ast.Load):
            if self._is_table(node.value, scope) and not self._is_part(node.value):
                self._change(node)
            if node.attr == "index" and isinstance(node.value, ast.Name):
                self._groups.add(node.value.id)
        self._into(node, scope)

    def _subscript(self, node: ast.Subscript, scope: _Scope) -> None:
        held, at = node.value, node.slice
        if not isinstance(node.ctx, ast.Load):
            listed = isinstance(held, ast.Name) and self._is_place(at)
            if self._is_table(held, scope) and (listed or not self._is_part(held)):
                self._change(node)
        elif isinstance(held, ast.Attribute) and held.attr in ("loc", "at"):
            first = at.elts[0] if isinstance(at, ast.Tuple) and at.elts else at
            self._condition = self._condition or not isinstance(first, ast.Slice)
        elif self._is_key(at):
            grouped = held.id in self._groups if isinstance(held, ast.Name) else self._is_group(held)
            self._condition = self._condition or grouped
        mask = isinstance(at, ast.Subscript | ast.Attribute) or self._is_piece(at)
        if mask and (self._is_table(at, scope) or self._is_piece(at)):
            self._condition = True  # df[df["open"]]
        self._into(node, scope)

    def _is_table(self, node: ast.expr, scope: _Scope) -> bool:
        """Whether `node` is a table or a part of one, and no copy."""
        for _ in range(_MOST_LINKS):
            if isinstance(node, ast.Name):
                return node.id in scope.tables
            if isinstance(node, ast.Attribute):
                node = node.value
            elif isinstance(node, ast.Subscript):
                selects = isinstance(node.value, ast.Attribute) and node.value.attr in _SELECTORS
                if not self._rules.edits and (selects or not self._is_key(node.slice)):
                    return False
                node = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr != "get" and not (self._rules.edits and node.func.attr in ("values", "items")):
                    return False
                node = node.func.value
            else:
                return False
        return False

    def _is_key(self, node: ast.expr) -> bool:
        """Whether a subscript gives one part of a table, as a literal does, and the variable of a loop."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node = node.operand
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in self._keys)

    def _is_place(self, node: ast.expr) -> bool:
        """Whether a subscript may be one of a list."""
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        return isinstance(node, ast.Slice | ast.BinOp) or (self._is_key(node) and not text)

    def _is_piece(self, node: ast.expr) -> bool:
        """Whether `node` is a name of a part of a table."""
        return isinstance(node, ast.Name) and node.id in self._pieces

    def _is_part(self, node: ast.expr) -> bool:
        """Whether `node` begins with such a name, in a text that reads."""
        for _ in range(_MOST_LINKS):
            if isinstance(node, ast.Attribute | ast.Subscript):
                node = node.value
            elif isinstance(node, ast.Call):
                node = node.func
            else:
                break
        return not self._rules.edits and self._is_piece(node)

    def _is_group(self, node: ast.expr) -> bool:
        """Whether `node` is the result of a call that gives values of the table as keys."""
        outermost = ""
        for _ in range(_MOST_LINKS):
            if isinstance(node, ast.Attribute | ast.Subscript):
                node = node.value
            elif isinstance(node, ast.Call):
                called = _called(node)
                outermost = outermost or called or "?"
                if called in _GROUPINGS:
                    return outermost != "groupby"  # df.groupby("a")["b"] is a choice of columns
                node = node.func
            else:
                made = isinstance(node, ast.DictComp) or (isinstance(node, ast.Dict) and not node.keys)
                return (made or (isinstance(node, ast.Name) and node.id in self._groups)) and outermost == ""
        return False

    # Calls

    def _call(self, node: ast.Call, scope: _Scope) -> None:
        function, called = node.func, _called(node)
        self._called.add(called)
        self._check_forbidden(function, node.lineno)
        if called in _CONDITIONS or (called in _LOOKUPS and bool(node.args)):
            self._condition = True
        if isinstance(function, ast.Attribute):
            held = function.value
            frozen = isinstance(held, ast.Attribute) and held.attr in _IMMUTABLE
            placed = any(map(_in_place, node.keywords))
            changes = (called in _MUTATORS and not frozen) or placed
            listed = isinstance(held, ast.Name) and called in _LIST_MUTATORS and not placed
            if changes and self._is_table(held, scope) and (listed or not self._is_part(held)):
                self._change(node)
        held_back = () if isinstance(function, ast.Name) else ("func",)  # a name that is called is not passed on
        self._into(node, scope, *held_back, "args", "keywords")

    def _check_forbidden(self, function: ast.expr, line: int) -> None:
        endings = _endings(function, self._parts)
        for ending in endings:
            if ending in self._rules.forbidden and not (ending == "compile" and _HARMLESS in endings):
                self._forbidden(ending, line)
                return

    def _forbidden(self, name: str, line: int) -> None:
        said = f"the code may not use {names.shown(name)}; compute the answer from {self._tables()} without it"
        self._add("forbidden_call", line, said)

    # Conditions

    def _decides(self, node: ast.AST, scope: _Scope) -> None:
        self._condition = True
        self._into(node, scope)

    def _operated(self, node: ast.BinOp | ast.UnaryOp, scope: _Scope) -> None:
        if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Not | ast.Invert):
            self._condition = True
        self._into(node, scope)


def _bound(targets: list[ast.expr]) -> list[str]:
    """The names that an assignment to `targets` binds."""
    found: list[str] = []
    waiting = [*targets]
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
    return found


def _called(node: ast.Call) -> str:
    """The last part of the name of what is called; "" where it has none."""
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _endings(node: ast.expr, most: int) -> list[str]:
    """The ends of a dotted name, such as c, b.c and a.b.c, with up to `most` parts."""
    found: list[str] = []
    while len(found) < most and isinstance(node, ast.Attribute | ast.Name):
        part = node.id if isinstance(node, ast.Name) else node.attr
        found.append(f"{part}.{found[-1]}" if found else part)
        if isinstance(node, ast.Name):
            break
        node = node.value
    return found


def _in_place(keyword: ast.keyword) -> bool:
    return keyword.arg == "inplace" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)


#: Nodes without anything to look at.
_LEAVES: frozenset[type] = frozenset(
    kind
    for family in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
    for kind in family.__subclasses__()
)
_VISITS: dict[type, Callable[[_Reader, Any, _Scope], None]] = {
    ast.Name: _Reader._name,
    ast.Global: _Reader._global,
    ast.ExceptHandler: _Reader._handler,
    ast.MatchAs: _Reader._captured,
    ast.MatchStar: _Reader._captured,
    ast.MatchMapping: _Reader._rest,
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import,
    ast.FunctionDef: _Reader._function,
    ast.AsyncFunctionDef: _Reader._function,
    ast.Lambda: _Reader._lambda,
    ast.ClassDef: _Reader._class,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Reader._comprehension),
    ast.comprehension: _Reader._generator,
    ast.For: _Reader._for,
    ast.AsyncFor: _Reader._for,
    ast.Assign: _Reader._assign,
    ast.AnnAssign: _Reader._annotated,
    ast.NamedExpr: _Reader._walrus,
    ast.AugAssign: _Reader._augmented,
    ast.Attribute: _Reader._attribute,
    ast.Subscript: _Reader._subscript,
    ast.Call: _Reader._call,
    **dict.fromkeys((ast.Compare, ast.BoolOp, ast.If, ast.IfExp, ast.Match), _Reader._decides),
    ast.BinOp: _Reader._operated,
    ast.UnaryOp: _Reader._operated,
}
