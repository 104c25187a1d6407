"""Where the data files are: policies/ and sandboxes/, in an installed wheel or beside the package in a checkout."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # at run time where a path is made: before a local session's process is started, imports delay it
    from pathlib import Path

_PACKAGE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


@cache
def _folder(name: str) -> str:
    # A wheel carries the folders as _data; an editable install or a checkout has them beside the package.
    for candidate in (f"{_PACKAGE}/_data/{name}", f"{os.path.dirname(_PACKAGE)}/{name}"):  # noqa: PTH120
        if os.path.isdir(candidate):  # noqa: PTH112
            return candidate
    raise FileNotFoundError(f"rlm_secure was installed without its {name} folder; reinstall it: pip install rlm-secure")


def policies_dir() -> Path:
    """The folder of the shipped policies and seccomp profiles. Raises FileNotFoundError."""
    from pathlib import Path

    return Path(_folder("policies"))


def sandboxes_dir() -> Path:
    """The folder of the Dockerfiles and the attack corpus. Raises FileNotFoundError."""
    from pathlib import Path

    return Path(_folder("sandboxes"))


@cache
def policy_names() -> tuple[str, ...]:
    """Names of the shipped policies, sorted. TEMPLATE.toml is a page to copy, not a policy."""
    names = (name.removesuffix(".toml") for name in os.listdir(_folder("policies")) if name.endswith(".toml"))  # noqa: PTH208
    return tuple(sorted(name for name in names if name != "TEMPLATE"))


def policy_file(name: str) -> Path:
    """The file of the shipped policy `name`. Raises FileNotFoundError, which names those that exist."""
    return _known(policies_dir() / f"{name}.toml", name, "policy", policy_names())


def seccomp_names() -> tuple[str, ...]:
    """Names of the shipped seccomp profiles, sorted."""
    return tuple(sorted(path.stem for path in (policies_dir() / "seccomp").glob("*.json")))


def seccomp_profile(name: str) -> Path:
    """The file of the seccomp profile `name`. Raises FileNotFoundError, which names those that exist."""
    return _known(policies_dir() / "seccomp" / f"{name}.json", name, "seccomp profile", seccomp_names())


def _known(path: Path, name: str, what: str, names: tuple[str, ...]) -> Path:
    if name not in names:  # also keeps separators and dots out of the path
        raise FileNotFoundError(f"there is no shipped {what} {name[:80]!r}; the shipped ones are {', '.join(names)}")
    return path
