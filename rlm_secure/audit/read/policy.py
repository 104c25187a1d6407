"""A policy file as rules see it: the effective values, the place of each, and why it does not load."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from rlm_secure.audit.finding import Location
from rlm_secure.audit.read.files import shown
from rlm_secure.errors import PolicyError
from rlm_secure.policy import Loaded, Policy, problems, trace
from rlm_secure.policy.locate import KeyPath, find
from rlm_secure.resources import policy_file, policy_names


@dataclass(frozen=True, slots=True)
class PolicySubject:
    """One policy. `loaded` is None if it does not load; `problems` then say why."""

    file: str
    path: Path
    loaded: Loaded | None
    problems: tuple[PolicyError, ...]
    today: date

    @property
    def policy(self) -> Policy:
        """The effective policy. Use it only if `loaded` is not None."""
        assert self.loaded is not None
        return self.loaded.policy

    def at(self, *path: str | int) -> Location:
        """The place of a key (or of an element of its array), in this file or in a base."""
        assert self.loaded is not None
        key = str(path[0])
        origin = self.loaded.origins.get(key)
        whole: KeyPath = (*key.split("."), *path[1:])
        if origin is None:
            return Location(self.file)
        if origin.source != self.loaded.source:
            return Location(shown(Path(origin.source)), origin.line or 1, origin.column or 1)
        place = find(self.loaded.places, whole)
        return Location(self.file, place.line, place.column) if place else Location(self.file)


def read(ref: str | Path, *, today: date | None = None, below: Path | None = None) -> PolicySubject:
    """Read the policy that `ref` names: a shipped one, or a file, without following links `below` that folder."""
    path = policy_file(ref) if isinstance(ref, str) and ref in policy_names() else Path(ref)
    wrong, loaded = problems(path, below=below), None
    try:
        loaded = None if wrong else trace(path, below=below)
    except PolicyError as error:  # the file has changed meanwhile
        wrong = (error,)
    return PolicySubject(shown(path), path, loaded, wrong, today or datetime.now(UTC).date())
