"""typing's aliases pass attribute access on to the class behind them, and some of those classes make classes."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "type_alias_mro": """
import typing
LOOT = typing.Type.mro(int)[-1].__subclasses__()
""",
    "origin_of_type": """
import typing
LOOT = typing.get_origin(typing.Type[int])
""",
    "origin_dunder": """
import typing
LOOT = typing.Type.__origin__
""",
    "alias_as_a_base": """
import typing
class M(typing.Type):
    pass
LOOT = M
""",
    "alias_called": """
import typing
LOOT = typing.Type[int].__origin__("X", (), {"__getattribute__": lambda s, n: CANARY})().x
""",
    "named_tuple_meta": """
import typing
LOOT = typing.NamedTupleMeta
""",
    "store_through_an_alias": """
import typing, json
typing.List[int].__origin__ = CANARY
alias = typing.Type[int]
LOOT = [alias.__origin__]
""",
    "generic_alias_of_a_library_class": """
import types, json
LOOT = types.GenericAlias(type, (int,))("X", (), {})  and types.GenericAlias(type, (int,)).__origin__
""",
    "new_type": """
import typing
LOOT = typing.NewType("X", int).__mro_entries__.__func__.__globals__
""",
    "protocol_instance_hooks": """
import typing
class P(typing.Protocol):
    pass
LOOT = type(P)
""",
    "overloads": """
import typing
LOOT = typing._overload_registry, typing.overload.__globals__
""",
}
