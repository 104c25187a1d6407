"""Packages and their versions: those that are installed, or those that a requirements file pins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib import metadata

from rlm_secure.audit.finding import Location

_PIN = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*===?\s*(?P<version>[0-9][^\s;#,\\]*)")
_NAMED = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)")
#: Limit of the digits of a number in a version: more are no real version, and converting them takes quadratic time.
_DIGITS = 18
_RELEASE = re.compile(r"v?(?:\d+!)?(\d+(?:\.\d+)*)(a|b|rc|\.?dev)?")


@dataclass(frozen=True, slots=True)
class Package:
    """One package. `version` is "" if a file names it without pinning it."""

    name: str
    version: str
    location: Location

    @property
    def key(self) -> str:
        """The name as package indexes compare it."""
        return normal(self.name)


@dataclass(frozen=True, slots=True)
class PackageSubject:
    """A set of packages, by normalised name."""

    packages: Mapping[str, Package]
    today: date


def normal(name: str) -> str:
    """A package's name in the normalised spelling that indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def older(version: str, fixed: str) -> bool:
    """Whether `version` was released before `fixed`. Pre-releases come before their release."""
    return _order(version) < _order(fixed)


def installed(*, today: date | None = None) -> PackageSubject:
    """The packages installed for this interpreter."""
    found: dict[str, Package] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and normal(name) not in found:  # the first one on the path is the one that is imported
            found[normal(name)] = Package(name, distribution.version, Location(f"installed:{normal(name)}"))
    return PackageSubject(found, today or datetime.now(UTC).date())


def requirements(text: str, file: str, *, today: date | None = None) -> PackageSubject:
    """The packages that a requirements file names."""
    found: dict[str, Package] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _PIN.match(line) or _NAMED.match(line)
        if match and not line.lstrip().startswith(("#", "-")):
            version = match.groupdict().get("version") or ""
            place = Location(file, number, match.start("name") + 1)
            found.setdefault(normal(match["name"]), Package(match["name"], version, place))
    return PackageSubject(found, today or datetime.now(UTC).date())


def _order(version: str) -> tuple[tuple[int, ...], int]:
    match = _RELEASE.match(version)
    if match is None:
        return (), 0
    numbers = [int(part[:_DIGITS]) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), 0 if match[2] else 1
