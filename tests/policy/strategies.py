"""Random policies, as the mappings that a TOML file would give, for every key that there is."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rlm_secure import registry
from rlm_secure.guarantees import Wall
from rlm_secure.policy.keys import Key, keys
from rlm_secure.policy.model import KNOWN_MODULES

ENVIRONMENTS = tuple(registry.ENVIRONMENTS)
WALLS = tuple(wall.value for wall in Wall)


def subset(of: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(of), unique=True, max_size=6)


SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "name": st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,10}", fullmatch=True),
    "description": st.text(max_size=20),
    "language.modules": subset(KNOWN_MODULES),
    "guardrails.forbidden_calls": subset(("eval", "to_csv", "os.system")),
    "isolation.environments": subset(ENVIRONMENTS),
    "isolation.others": st.dictionaries(st.sampled_from(("firecracker", "wasm")), subset(WALLS)).map(
        lambda walls: [{"name": name, "walls": each} for name, each in walls.items()]
    ),
    "isolation.best_effort": st.lists(st.sampled_from(WALLS), unique=True, max_size=3).map(
        lambda walls: [{"wall": wall, "reason": "a reason of some length"} for wall in walls]
    ),
    "isolation.docker_runtime": st.sampled_from(["runc", "runsc", "kata", "crun"]),
    "lm.models": subset(("gpt-5", "claude", "gemini")),
    "data.redact": subset(("a+", "secret", "[0-9]{16}")),
    "audit.ignore": st.just([]),
}


def values(key: Key) -> st.SearchStrategy[Any]:
    """Values that a key may have."""
    if key.dotted in SPECIAL:
        return SPECIAL[key.dotted]
    if key.dotted.startswith("isolation.") and isinstance(key.default, tuple):
        return subset(WALLS)
    if isinstance(key.default, bool):
        return st.booleans()
    assert key.low is not None
    assert key.high is not None
    if isinstance(key.default, float):
        return st.floats(0.001, key.high, allow_nan=False)
    return st.integers(int(key.low), int(key.high)) | st.integers(int(key.low), min(int(key.low) + 3, int(key.high)))


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """{"limits.cells": 3} as {"limits": {"cells": 3}}."""
    tree: dict[str, Any] = {}
    for dotted, value in flat.items():
        table, _, name = dotted.rpartition(".")
        (tree.setdefault(table, {}) if table else tree)[name] = value
    return tree


#: Some keys of a policy with values that each of them may have.
FLAT: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={key.dotted: values(key) for key in keys().values() if key.dotted != "extends"}
)
