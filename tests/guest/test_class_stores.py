"""Library code that changes a class by a statement, which goes past `registry.store`, was read: each is named here.

enum is left out: cells have no `global_enum`, and what its other statements replace no class body can define.
"""

from __future__ import annotations

import ast
import importlib
import inspect

#: What the class had under that name lives until the change is over: facades/classes.py and instances.py.
_HELD = {
    "typing.__init_subclass__.__init__", "typing.__init_subclass__.__subclasshook__",
    "typing.__init_subclass__._is_protocol", "typing.runtime_checkable._is_runtime_protocol",
}  # fmt: skip
#: Names that no cell can define on a class.
_CLOSED = {
    "abc.update_abstractmethods.__abstractmethods__", "copyreg._slotnames.__slotnames__",
    "dataclasses._add_slots.__qualname__", "dataclasses.make_dataclass.__module__",
    "typing.__init__.__callable_proto_members_only__", "typing.__init__.__protocol_attrs__",
    "typing.__init_subclass__.__parameters__", "typing._generic_init_subclass.__parameters__",
    "typing.runtime_checkable.__non_callable_proto_members__",
}  # fmt: skip
#: Of a class that is being made, which no cell holds yet, or that has nothing under that name: `__init__` of a protocol
#: is replaced where it is typing's, `__hash__` where the class has none, `__doc__` tells the cache first.
_NEW = {
    "dataclasses._add_slots.__getstate__", "dataclasses._add_slots.__setstate__", "dataclasses._process_class.__doc__",
    "dataclasses._process_class.__hash__", "dataclasses._hash_set_none.__hash__", "typing._no_init_or_replace_init.__init__",
}  # fmt: skip
#: No cell can derive a class from these two.
_OUT_OF_REACH = {"random.__init_subclass__._randbelow", "string.__init_subclass__.pattern"}


def _statements(name: str) -> set[str]:
    found = set()
    for function in ast.walk(ast.parse(inspect.getsource(importlib.import_module(name)))):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                    if ast.unparse(node.value) in ("cls", "enum_class", "klass", "owner"):
                        found.add(f"{name}.{function.name}.{node.attr}")
    return found


def test_every_statement_by_which_a_library_changes_a_class_is_known() -> None:
    modules = ("abc", "collections", "contextlib", "copyreg", "dataclasses", "functools", "random", "string", "typing")
    found = set().union(*map(_statements, modules))
    assert "typing.__init_subclass__._is_protocol" in found
    assert found <= _HELD | _CLOSED | _NEW | _OUT_OF_REACH
