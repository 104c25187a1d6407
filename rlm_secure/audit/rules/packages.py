"""Rules on installed packages, and on those in a requirements file."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from rlm_secure.audit.finding import Finding, Location, Severity
from rlm_secure.audit.read.packages import Package, PackageSubject, normal, older
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee

_FILE = Path(__file__).parents[1] / "advisories.toml"
_OLD = timedelta(days=183)
#: Packages that run untrusted code, or communicate with it: if one of these is not pinned, that is a finding.
_TRUSTED = ("restrictedpython", "rlm-secure", "pyseccomp", "smolagents", "asteval", "e2b-code-interpreter", "docker")


@dataclass(frozen=True, slots=True)
class Advisory:
    """One entry of advisories.toml."""

    id: str
    package: str
    severity: str
    kind: str
    summary: str
    reference: str
    fixed: str = ""

    def concerns(self, package: Package) -> bool:
        """Whether this version of the package is affected."""
        if normal(self.package) != package.key:
            return False
        return not self.fixed or (bool(package.version) and older(package.version, self.fixed))


@functools.cache
def advisories() -> tuple[date, tuple[Advisory, ...]]:
    """The date of the bundled list, and its entries."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return data["dated"], tuple(Advisory(**entry) for entry in data["advisory"])


class PackageVulnerable(Rule[PackageSubject]):
    """A package has a published vulnerability.

    The list is bundled, and covers packages that run untrusted code: RestrictedPython, and others with a similar
    purpose. For everything else use pip-audit.

    Bad:
        RestrictedPython==8.2

    Good:
        RestrictedPython==9.0

    See:
        rlm_secure/audit/advisories.toml
        https://github.com/pypa/pip-audit
    """

    id = "package-vulnerable"
    kind = Kind.PACKAGES
    severity = Severity.HIGH
    weakens = (Guarantee.NO_REFLECTION,)
    hint = "install the fixed version or a newer one"

    def check(self, subject: PackageSubject) -> Iterator[Finding]:
        for advisory in advisories()[1]:
            package = subject.packages.get(normal(advisory.package))
            if package and advisory.kind == "vulnerability" and advisory.concerns(package):
                message = f"{package.name} {package.version}: {advisory.id}: {advisory.summary}"
                yield self.finding(
                    package.location,
                    message,
                    about=f"{package.key} {advisory.id}",
                    severity=Severity(advisory.severity),
                    hint=f"install {advisory.package}>={advisory.fixed}",
                )


class PackageDeprecated(Rule[PackageSubject]):
    """A package is no longer maintained under this name.

    Its vulnerabilities are not fixed any more, and an attacker may one day take over its name.

    Bad:
        daytona-sdk==0.226.1

    Good:
        daytona==0.226.1

    See:
        rlm_secure/audit/advisories.toml
    """

    id = "package-deprecated"
    kind = Kind.PACKAGES
    severity = Severity.LOW
    hint = "install its successor, and take this one out"

    def check(self, subject: PackageSubject) -> Iterator[Finding]:
        yield from _of_kind(self, subject, "deprecated")


class PackageByDesign(Rule[PackageSubject]):
    """A package is unsafe for untrusted code by design.

    That is not a bug: it does not promise more. It is a finding because installed packages tend to be used.

    Bad:
        rlms==0.1.3

    Good:
        rlm-secure==0.1.0

    See:
        rlm-secure explain upstream-local
    """

    id = "package-by-design"
    kind = Kind.PACKAGES
    severity = Severity.LOW
    weakens = (Guarantee.NO_EXEC, Guarantee.HOST_INTEGRITY)
    hint = "take it out of environments that run untrusted code"

    def check(self, subject: PackageSubject) -> Iterator[Finding]:
        yield from _of_kind(self, subject, "design")


class PackageUnpinned(Rule[PackageSubject]):
    """A requirements file names a package of the trusted base without a version.

    The next install takes the newest version, which was not reviewed. For a package that separates cells from the
    host, that changes a wall.

    Bad:
        RestrictedPython

    Good:
        RestrictedPython==9.0

    See:
        https://pip.pypa.io/en/stable/topics/secure-installs/
    """

    id = "package-unpinned"
    kind = Kind.PACKAGES
    severity = Severity.LOW
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "pin it: NAME==VERSION, with hashes"

    def check(self, subject: PackageSubject) -> Iterator[Finding]:
        for package in subject.packages.values():
            if not package.version and package.key in _TRUSTED:
                yield self.finding(package.location, f"{package.name} has no exact version", about=package.key)


class AdvisoriesOld(Rule[PackageSubject]):
    """The bundled list of advisories is older than half a year.

    Newer advisories are not in it, so the absence of findings proves little.

    See:
        rlm_secure/audit/advisories.toml
    """

    id = "advisories-old"
    kind = Kind.PACKAGES
    severity = Severity.LOW
    hint = "install a newer rlm-secure, and run pip-audit as well"

    def check(self, subject: PackageSubject) -> Iterator[Finding]:
        dated = advisories()[0]
        if subject.today - dated > _OLD:
            message = f"the list of advisories is of {dated.isoformat()}"
            yield self.finding(Location("rlm_secure/audit/advisories.toml", 5), message, about="dated")


def _of_kind(rule: Rule[PackageSubject], subject: PackageSubject, kind: str) -> Iterator[Finding]:
    for advisory in advisories()[1]:
        package = subject.packages.get(normal(advisory.package))
        if package and advisory.kind == kind and advisory.concerns(package):
            message = f"{package.name} {package.version}".strip() + f": {advisory.summary}"
            about = f"{package.key} {advisory.id}"
            yield rule.finding(package.location, message, about=about, severity=Severity(advisory.severity))


RULES = (PackageVulnerable, PackageDeprecated, PackageByDesign, PackageUnpinned, AdvisoriesOld)
