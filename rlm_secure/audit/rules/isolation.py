"""Policy rules on walls: which are not required, which may be missing, and who may write the policy file."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from rlm_secure.audit.finding import Finding, Location, Severity
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import RESTS_ON, Guarantee, Wall
from rlm_secure.policy.model import Isolation
from rlm_secure.registry import ENVIRONMENTS, RunsIn

#: Walls with no other wall behind them.
_LAST = frozenset({Wall.SECCOMP, Wall.LANDLOCK, Wall.SEPARATE_PROCESS, Wall.EMPTY_ROOT, Wall.NETWORK_NAMESPACE})
_CLOUD_KEEPS = frozenset({Guarantee.NO_HOST_FILES, Guarantee.NO_LEFTOVERS, Guarantee.SESSION_ISOLATION})


def weakened(wall: Wall) -> tuple[Guarantee, ...]:
    """The guarantees that need `wall` in every alternative."""
    return tuple(each for each, alternatives in RESTS_ON.items() if all(wall in walls for walls in alternatives))


def _key(environment: str) -> str:
    """The policy key that lists the required walls of `environment`."""
    return f"isolation.{environment}" if environment in ENVIRONMENTS else "isolation.others"


def _elsewhere(environment: str) -> bool:
    """Whether this is one of our environments whose sessions run inside a provider's or an engine's isolation."""
    return environment in ENVIRONMENTS and ENVIRONMENTS[environment].runs_in is not RunsIn.PROCESS


class PolicyInvalid(Rule[PolicySubject]):
    """A policy does not load.

    Nothing runs under it: every start fails. If a program falls back to another policy, that one applies, and may be
    looser. Unknown keys, wrong types, impossible values, and values that are looser than those of the policy in
    `extends` are all errors.

    Bad:
        [limits]
        memory = "lots"

    Good:
        [limits]
        memory_bytes = 1_073_741_824

    See:
        rlm-secure policy check FILE
        policies/TEMPLATE.toml
    """

    id = "policy-invalid"
    kind = Kind.POLICY
    severity = Severity.HIGH
    hint = "correct the line; rlm-secure policy check shows every mistake of a file"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for problem in subject.problems:
            place = f"{problem.source}:{problem.line}:{problem.column}: "
            message = str(problem).removeprefix(place).removeprefix(f"{problem.source}: ")
            where = Location(subject.file, problem.line or 1, problem.column or 1)
            yield self.finding(where, message, about=problem.key or message)


class BestEffortWall(Rule[PolicySubject]):
    """A wall may be missing, and sessions still start.

    `best_effort` is for machines that cannot build a wall. It is also the line that an attacker would add: with it, a
    failure to build the wall is only noted in a report, and the session still starts.

    Bad:
        [isolation]
        best_effort = [{ wall = "seccomp", reason = "our old kernel refuses it" }]

    Good:
        [isolation]
        best_effort = []

    See:
        rlm-secure doctor, which shows the walls that this machine can build
    """

    id = "best-effort-wall"
    kind = Kind.POLICY
    severity = Severity.MEDIUM
    hint = "take it out where doctor shows the wall as full; else accept this until a date, in audit.ignore"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, entry in enumerate(subject.policy.isolation.best_effort):
            if entry.wall is Wall.LANGUAGE and subject.policy.language.packages:
                continue  # it is there, and cannot be more than partial: third-party-packages says so
            last = entry.wall in _LAST
            behind = ", and no other one stands behind it" if last else ""
            message = f"the wall {entry.wall.value} may be missing{behind}"
            yield self.finding(
                subject.at("isolation.best_effort", index),
                message,
                about=f"isolation.best_effort {entry.wall.value}",
                severity=Severity.HIGH if last else Severity.MEDIUM,
                weakens=weakened(entry.wall),
            )


class ThirdPartyPackages(Rule[PolicySubject]):
    """Cells can use numpy, pandas or matplotlib.

    Their C code was not written for input that attacks it, and works on what cells pass to it: a mistake in it may be a
    way around the language layer. The walls of the kernel do not depend on that layer, and are the same.

    Bad:
        [language]
        modules = ["math", "pandas"]

    Good:
        [language]
        modules = ["math", "statistics"]

    See:
        threat-model.md, claim no-reflection
        policies/data.toml
    """

    id = "third-party-packages"
    kind = Kind.POLICY
    severity = Severity.LOW
    weakens = (Guarantee.NO_REFLECTION,)
    hint = "give them only to the runs that need them; the policy data is standard with them"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        if packages := subject.policy.language.packages:
            message = f"cells can use {', '.join(packages)}: the language wall is partial"
            yield self.finding(subject.at("language.modules"), message, about="language.modules")


class WallNotRequired(Rule[PolicySubject]):
    """A list of required walls is shorter than the shipped one.

    A wall that is not required may be missing without notice: a session starts on a machine that cannot build it.
    The claims of the threat model rest on the shipped lists.

    Bad:
        [isolation]
        local = ["separate-process", "seccomp"]

    Good:
        [isolation]
        environments = ["local"]

    See:
        threat-model.md, section 5
    """

    id = "wall-not-required"
    kind = Kind.POLICY
    severity = Severity.HIGH
    hint = "leave the key out: the default requires every wall that the environment can build"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for environment in subject.policy.isolation.environments:
            listed = subject.policy.isolation.listed(environment)
            missing = [wall for wall in Isolation().listed(environment) if wall not in listed]
            if missing:
                key = _key(environment)
                names = ", ".join(wall.value for wall in missing)
                weakens = tuple(dict.fromkeys(each for wall in missing for each in weakened(wall)))
                yield self.finding(subject.at(key), f"{key} leaves out {names}", about=key, weakens=weakens)


class GuaranteeUnbacked(Rule[PolicySubject]):
    """The walls that a policy requires do not add up to a guarantee.

    Every guarantee of the threat model rests on one of several sets of walls. If the required walls contain none of
    these sets completely, sessions may start in which the guarantee does not hold, without any notice.

    Bad:
        [isolation]
        environments = ["local"]
        local = ["separate-process", "empty-environment", "rlimits", "wall-clock"]

    Good:
        [isolation]
        environments = ["local"]

    See:
        threat-model.md, section 5, the column of walls
    """

    id = "guarantee-unbacked"
    kind = Kind.POLICY
    severity = Severity.HIGH
    hint = "require the walls that the guarantee rests on"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for environment in subject.policy.isolation.environments:
            required = frozenset(subject.policy.isolation.required(environment))
            if subject.policy.language.packages:
                required |= {Wall.LANGUAGE}  # as above
            lost = tuple(
                guarantee
                for guarantee, alternatives in RESTS_ON.items()
                if not any(walls <= required for walls in alternatives)
                # In the cloud the provider's own isolation protects the machine's files and its other tenants.
                and not (_elsewhere(environment) and guarantee in _CLOUD_KEEPS)
            )
            if lost:
                key = _key(environment)
                message = f"what {environment} requires does not add up to {', '.join(lost)}"
                yield self.finding(subject.at(key), message, about=key, weakens=lost)


class SharedKernel(Rule[PolicySubject]):
    """Containers share the machine's kernel.

    runc confines a container with namespaces and seccomp, and its kernel is the host's. runsc (gVisor) and kata put a
    kernel of their own in between, so that a kernel bug does not compromise the host.

    Bad:
        [isolation]
        environments = ["docker"]
        docker_runtime = "runc"

    Good:
        [isolation]
        environments = ["docker"]
        docker_runtime = "runsc"

    See:
        https://gvisor.dev/docs/architecture_guide/security/
    """

    id = "shared-kernel"
    kind = Kind.POLICY
    severity = Severity.INFO
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = 'use docker_runtime = "runsc" where it is installed'

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        isolation = subject.policy.isolation
        if "docker" in isolation.environments and isolation.docker_runtime == "runc":
            message = "docker sessions share the host's kernel: the runtime is runc"
            yield self.finding(subject.at("isolation.docker_runtime"), message, about="isolation.docker_runtime")


class EnvironmentsUnlimited(Rule[PolicySubject]):
    """A policy allows every environment.

    An environment that is not used is not maintained: its SDK, its account, its images. A policy that names only
    those in use refuses a run that was sent elsewhere by mistake.

    Bad:
        [isolation]
        environments = ["local", "docker", "modal", "daytona", "prime", "e2b", "kubernetes"]

    Good:
        [isolation]
        environments = ["local"]

    See:
        policies/TEMPLATE.toml, isolation.environments
    """

    id = "environments-unlimited"
    kind = Kind.POLICY
    severity = Severity.INFO
    weakens = (Guarantee.SESSION_ISOLATION,)
    hint = "name the environments that you use in isolation.environments"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        allowed = subject.policy.isolation.environments
        if set(ENVIRONMENTS) <= set(allowed):
            message = f"all {len(allowed)} environments are allowed"
            yield self.finding(subject.at("isolation.environments"), message, about="isolation.environments")


class NetworkIngress(Rule[PolicySubject]):
    """Cloud brokers may be reached over the provider's ingress.

    The control channel then has an address on the internet, protected by a credential; otherwise it goes through the
    provider's own exec. Anyone who obtains the credential can connect to the worker.

    Bad:
        [network]
        ingress = true

    Good:
        [network]
        ingress = false

    See:
        threat-model.md, claim authentic-channel
    """

    id = "network-ingress"
    kind = Kind.POLICY
    weakens = (Guarantee.AUTHENTIC_CHANNEL, Guarantee.NO_NETWORK)
    hint = "leave network.ingress false; exec is slower and has no address"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        if subject.policy.network.ingress:
            yield self.finding(subject.at("network.ingress"), "network.ingress is true", about="network.ingress")


class PolicyWritable(Rule[PolicySubject]):
    """A policy file is writable by others than its owner.

    A policy decides everything that a run may do. Anyone who can write or replace the file decides instead.

    See:
        chmod go-w FILE
    """

    id = "policy-writable"
    kind = Kind.POLICY
    severity = Severity.HIGH
    hint = "take the permission away: chmod go-w"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        mode = subject.path.stat().st_mode
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            who = "everybody" if mode & stat.S_IWOTH else "its group"
            message = f"{who} may write this policy (mode {stat.S_IMODE(mode):04o})"
            yield self.finding(subject.at(""), message, about="mode")


RULES = (
    PolicyInvalid, BestEffortWall, ThirdPartyPackages, WallNotRequired, GuaranteeUnbacked, SharedKernel,
    EnvironmentsUnlimited, NetworkIngress, PolicyWritable,
)  # fmt: skip
