"""Every rule, by its id. A new rule is a class in one of these files, and an entry in its RULES.

A rule of another distribution is registered as an entry point (see rlm_secure.registry), and used if it is requested by
its id.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from rlm_secure import registry
from rlm_secure.audit.finding import Confidence, Severity
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.audit.rules import (
    cells,
    code,
    containers,
    data,
    dockerfiles,
    environments,
    ignores,
    isolation,
    limits,
    models,
    packages,
    seccomp,
)
from rlm_secure.guarantees import Guarantee
from rlm_secure.registry import PluginGroup

_TABLES: tuple[tuple[type[Rule[Any]], ...], ...] = (
    isolation.RULES,
    limits.RULES,
    models.RULES,
    data.RULES,
    ignores.RULES,
    packages.RULES,
    code.RULES,
    dockerfiles.RULES,
    containers.RULES,
    seccomp.RULES,
    cells.RULES,
    cells.TRAJECTORY_RULES,
    environments.RULES,
)
RULES: tuple[type[Rule[Any]], ...] = tuple(rule for table in _TABLES for rule in table)
"""Every rule of ours, in the order of their ids' groups."""
BY_ID: Mapping[str, type[Rule[Any]]] = MappingProxyType({rule.id: rule for rule in RULES})
"""Each rule of ours by its id."""
ignores.IgnoreUnknown.known = BY_ID


#: Rules of other distributions that were requested.
_loaded: dict[str, type[Rule[Any]]] = {}


def of(kind: Kind, more: Collection[str] = ()) -> tuple[type[Rule[Any]], ...]:
    """The rules for one kind of subject: ours, and those of `more`. Raises as `get`."""
    return tuple(rule for rule in (*RULES, *map(get, more)) if rule.kind is kind)


def others() -> Mapping[str, str]:
    """The ids of the rules of other distributions, each with its distribution. Imports none. Raises ValueError."""
    found = registry.plugins(PluginGroup.RULES, BY_ID)
    return {name: registry.provenance(found[name]) for name in sorted(found)}


def get(name: str) -> type[Rule[Any]]:
    """The rule with the id `name`, ours or of another distribution. Raises KeyError if there is none, ValueError for
    one of another distribution that cannot be used."""
    if name in BY_ID:
        return BY_ID[name]
    if name not in _loaded:
        entry = registry.plugins(PluginGroup.RULES, BY_ID)[name]
        rule = registry.load(PluginGroup.RULES, entry, Rule)
        if reason := _unusable(rule, name):
            raise ValueError(f"the rule {name!r} of {registry.provenance(entry)} cannot be used: {reason}")
        _loaded[name] = rule
    return _loaded[name]


def _unusable(rule: type[Rule[Any]], name: str) -> str:
    """Why a rule of another distribution could not run or explain itself; "" if it can."""
    if getattr(rule, "id", None) != name:
        return f"the attribute `id` of its class is {getattr(rule, 'id', None)!r}, and not the name of its entry point"
    if not isinstance(getattr(rule, "kind", None), Kind):
        return f"the attribute `kind` of its class is {getattr(rule, 'kind', None)!r}; it must be a member of Kind"
    for attribute, members in (("severity", Severity), ("confidence", Confidence)):
        value = getattr(rule, attribute)
        if not isinstance(value, members):
            return f"the attribute `{attribute}` of its class is {value!r}; it must be a member of {members.__name__}"
    if not isinstance(rule.weakens, tuple) or not all(isinstance(each, Guarantee) for each in rule.weakens):
        return f"the attribute `weakens` of its class is {rule.weakens!r}; it must be a tuple of members of Guarantee"
    if inspect.isabstract(rule):
        return "its class has no method `check`"
    if not rule.__doc__:
        return "its class has no docstring, which is its page"
    return "" if rule.hint else "the attribute `hint` of its class is empty; it says what to do about a finding"
