"""What the text of a policy says before it is checked: enough to prepare for it, never to decide by it.

To check a policy of one's own takes longer than a first session takes to start: pydantic and the model are imported for
that. What the session needs can be prepared meanwhile, if the policy will probably allow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlm_secure import files
from rlm_secure.policy import toml
from rlm_secure.policy.shipped import TESTED


def may_be_local(ref: object) -> bool:
    """Whether `ref`, as load_policy() takes it, says that sessions of this machine are allowed, if it loads at all.

    False where that is not seen at once, as where it extends another file.
    """
    written = _written(ref)
    if written is None:
        return False
    base, isolation = written.get("extends"), written.get("isolation", {})
    if not (base is None or (isinstance(base, str) and base in TESTED)) or not isinstance(isolation, Mapping):
        return False
    allowed = isolation.get("environments", ("local",))  # each shipped policy allows it, and so does the default
    return isinstance(allowed, list | tuple) and "local" in allowed


def _written(ref: object) -> Mapping[Any, Any] | None:
    """The tables of a mapping, of a shipped policy or of a file; None of anything else."""
    kind = type(ref)  # isinstance() would have the model of a Policy imported (shipped.py)
    if issubclass(kind, Mapping):
        return ref  # type: ignore[return-value]
    if issubclass(kind, str) and ref in TESTED:
        return {}
    name = str(ref) if issubclass(kind, str | Path) else ""
    if not (issubclass(kind, Path) or name.endswith(".toml") or "/" in name):
        return None
    try:
        return toml.loads(files.read(Path(name), toml.MOST_BYTES).decode("utf-8"))
    except (OSError, ValueError):  # the loader says what is wrong
        return None
