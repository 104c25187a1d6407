"""Where the data files are: policies/ and sandboxes/, in an installed wheel or beside the package in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def _folder(name: str) -> Path:
    # A wheel carries the folders as _data; an editable install or a checkout has them beside the package.
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"rlm_secure was installed without its {name} folder; reinstall it: pip install rlm-secure")


def policies_dir() -> Path:
    """The folder of the shipped policies and seccomp profiles. Raises FileNotFoundError."""
    return _folder("policies")


def sandboxes_dir() -> Path:
    """The folder of the Dockerfiles and the attack corpus. Raises FileNotFoundError."""
    return _folder("sandboxes")


@cache
def policy_names() -> tuple[str, ...]:
    """Names of the shipped policies, sorted. TEMPLATE.toml is a page to copy, not a policy."""
    return tuple(sorted(path.stem for path in policies_dir().glob("*.toml") if path.stem != "TEMPLATE"))


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
