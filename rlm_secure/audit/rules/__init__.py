"""Every rule, by its id. A new rule is a class in one of these files, and an entry in its RULES."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

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
BY_ID: Mapping[str, type[Rule[Any]]] = MappingProxyType({rule.id: rule for rule in RULES})
ignores.IgnoreUnknown.known = BY_ID


def of(kind: Kind) -> tuple[type[Rule[Any]], ...]:
    """The rules that look at one kind of thing."""
    return tuple(rule for rule in RULES if rule.kind is kind)
