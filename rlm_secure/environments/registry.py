"""Environments by name: ours, and those of other distributions. A class is imported when it is asked for."""

from __future__ import annotations

import inspect
from typing import Any

from rlm_secure import registry
from rlm_secure.environments.foreign_options import own_options
from rlm_secure.environments.interface import Environment
from rlm_secure.registry import ENVIRONMENTS, EnvironmentType, PluginGroup


def get_environment_class(name: EnvironmentType | str) -> type[Environment]:
    """The class of the environment called `name`.

    Raises ValueError for an unknown one and for one of another distribution that cannot be used, MissingExtra for a
    missing SDK.
    """
    if name in ENVIRONMENTS:
        kind: type[Environment] = registry.built_in(ENVIRONMENTS[name].target)
        return kind
    others = registry.plugins(PluginGroup.ENVIRONMENTS, ENVIRONMENTS)
    if name not in others:
        raise ValueError(f"unknown environment {name!r}; known: {', '.join(sorted((*ENVIRONMENTS, *others)))}")
    kind = registry.load(PluginGroup.ENVIRONMENTS, others[name], Environment)
    if getattr(kind, "name", None) != name:
        # A policy allows an environment, and requires its walls, by this name.
        said = f"the environment {name!r} of {registry.provenance(others[name])} cannot be used"
        raise ValueError(f"{said}: the attribute `name` of its class is {getattr(kind, 'name', None)!r}")
    return kind


def create_environment(name: EnvironmentType | str, /, **kwargs: Any) -> Environment:
    """The environment called `name`, made with `kwargs`. Raises as get_environment_class, TypeError for an option that
    it does not have."""
    kwargs = own_options(name, kwargs)
    kind = get_environment_class(name)
    known = inspect.signature(kind).parameters if kwargs else {}
    for key in kwargs:
        if key not in known:
            offered = ", ".join(sorted(known)) or "none"
            raise TypeError(f"environment {name!r} has no option {key!r}; its options: {offered}")
    return kind(**kwargs)
