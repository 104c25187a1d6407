"""The registry: which environments there are, and what other distributions add by entry points.

A built-in environment is an entry in ENVIRONMENTS: policies, audit, commands and pages read this table. Built-in
clients and rules have their own tables beside the code (rlm_secure/clients, rlm_secure/audit/rules). Another
distribution adds to each by an entry point, and changes nothing here:

    [project.entry-points."rlm_secure.environments"]
    firecracker = "my_package.firecracker:FirecrackerEnvironment"

The groups are `rlm_secure.environments` (classes of Environment), `rlm_secure.clients` (classes of BaseLM) and
`rlm_secure.rules` (classes of Rule). Nothing of another distribution is imported before it is requested by name.

Guards: that no other distribution takes a name of ours, and which walls an environment must have
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rlm_secure.guarantees import Wall

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: For type checkers, which cannot read the table; a test checks that both agree.
EnvironmentType: TypeAlias = Literal["local", "docker", "modal", "daytona", "prime", "e2b", "kubernetes"]
"""The names of our environments; any other text is one of another distribution."""

LOCAL_WALLS: Final = (
    Wall.LANGUAGE, Wall.SEPARATE_PROCESS, Wall.EMPTY_ENVIRONMENT, Wall.NO_INHERITED_FDS,
    Wall.USER_NAMESPACE, Wall.MOUNT_NAMESPACE, Wall.EMPTY_ROOT, Wall.PID_NAMESPACE,
    Wall.NETWORK_NAMESPACE, Wall.IPC_NAMESPACE, Wall.UNPRIVILEGED_UID, Wall.NO_CAPABILITIES,
    Wall.NO_NEW_PRIVS, Wall.NOT_DUMPABLE, Wall.LANDLOCK, Wall.SECCOMP, Wall.RLIMITS,
    Wall.WALL_CLOCK, Wall.OUTPUT_CAP,
)  # fmt: skip
#: Inside a container or a provider's VM the kernel may refuse namespaces; the rest must hold.
REMOTE_WALLS: Final = (
    Wall.LANGUAGE, Wall.SEPARATE_PROCESS, Wall.EMPTY_ENVIRONMENT, Wall.NO_INHERITED_FDS,
    Wall.UNPRIVILEGED_UID, Wall.NO_CAPABILITIES, Wall.NO_NEW_PRIVS, Wall.NOT_DUMPABLE,
    Wall.SECCOMP, Wall.RLIMITS, Wall.WALL_CLOCK, Wall.OUTPUT_CAP,
)  # fmt: skip
#: In a container, the engine can start a process as a second user.
DOCKER_WALLS: Final = (*REMOTE_WALLS, Wall.SEPARATE_UID, Wall.CONTAINER)
#: In a pod everything has one user: no cluster should let one start as root.
POD_WALLS: Final = (*REMOTE_WALLS, Wall.CONTAINER)


class RunsIn(StrEnum):
    """Where the sessions of an environment run."""

    PROCESS = "process"
    CONTAINER = "container"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """A built-in environment: `module:class`, where it runs, and the walls that a policy requires of it by default.

    `reach` are the options that let an arena attack it. `builds`: `rlm-secure sandbox build` makes its image.
    """

    target: str
    runs_in: RunsIn
    walls: tuple[Wall, ...]
    reach: str = "--share-network, and --share-variable with the name of the variable that holds its key"
    builds: bool = True

    @property
    def always(self) -> tuple[Wall, ...]:
        """Walls that are required without being listed: a provider's network block that is seen to fail."""
        return (Wall.PROVIDER_NETWORK_BLOCK,) if self.runs_in is RunsIn.CLOUD else ()


_CLOUD: Final = "rlm_secure.environments.cloud"
#: Every built-in environment, by name. To add one: its line here, and its module.
ENVIRONMENTS: Final[Mapping[str, EnvironmentSpec]] = MappingProxyType(
    {
        "local": EnvironmentSpec(
            "rlm_secure.environments.local:LocalEnvironment", RunsIn.PROCESS, LOCAL_WALLS, reach="", builds=False
        ),
        "docker": EnvironmentSpec(
            "rlm_secure.environments.docker:DockerEnvironment",
            RunsIn.CONTAINER,
            DOCKER_WALLS,
            reach="--share /run/docker.sock --share /tmp/rlm-secure-sockets:rw",
        ),
        "modal": EnvironmentSpec(f"{_CLOUD}.modal:ModalEnvironment", RunsIn.CLOUD, REMOTE_WALLS),
        "daytona": EnvironmentSpec(f"{_CLOUD}.daytona:DaytonaEnvironment", RunsIn.CLOUD, REMOTE_WALLS),
        "prime": EnvironmentSpec(f"{_CLOUD}.prime:PrimeEnvironment", RunsIn.CLOUD, REMOTE_WALLS),
        "e2b": EnvironmentSpec(f"{_CLOUD}.e2b:E2BEnvironment", RunsIn.CLOUD, REMOTE_WALLS),
        "kubernetes": EnvironmentSpec(
            f"{_CLOUD}.kubernetes:KubernetesEnvironment",
            RunsIn.CLOUD,
            POD_WALLS,
            reach="--share-network, and --share with the kubeconfig",
            builds=False,
        ),
    }
)

#: What runs a batch, beside threads: a function of the RLM and its rlm_secure.rlm.batch.Batch, by name.
ENGINES: Final[Mapping[str, str]] = MappingProxyType({"ray": "rlm_secure.scale.ray:run"})


class PluginGroup(StrEnum):
    """What other distributions may add; the value is the group of its entry points."""

    ENVIRONMENTS = "rlm_secure.environments"
    CLIENTS = "rlm_secure.clients"
    RULES = "rlm_secure.rules"

    @property
    def noun(self) -> str:
        """The singular noun, for messages."""
        return self.value.rpartition(".")[2].removesuffix("s")


def plugins(group: PluginGroup, ours: Collection[str]) -> dict[str, EntryPoint]:
    """What other distributions add to `group`, by name; nothing of it is imported.

    Raises ValueError where one has a name of `ours`, or two have the same.
    """
    from importlib.metadata import entry_points  # here: it takes longer to import than all of this package's tables

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group.value):
        if entry.name in ours:
            raise ValueError(
                f"{provenance(entry)} offers the {group.noun} {entry.name[:80]!r}, which is a name of rlm-secure's "
                "own; it must use another name, or be uninstalled"
            )
        other = found.setdefault(entry.name, entry)
        if other is not entry and (other.value, provenance(other)) != (entry.value, provenance(entry)):
            raise ValueError(
                f"{provenance(other)} and {provenance(entry)} both offer the {group.noun} {entry.name[:80]!r}; "
                "uninstall one of them"
            )
    return found


def provenance(entry: EntryPoint) -> str:
    """The distribution that an entry point comes with, and its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a distribution without a name"


def load(group: PluginGroup, entry: EntryPoint, kind: type) -> Any:
    """The subclass of `kind` that an entry point names. Raises ValueError for anything else."""
    about = f"the {group.noun} {entry.name[:80]!r} of {provenance(entry)}"
    try:
        loaded = entry.load()
    except Exception as error:
        raise ValueError(f"{about} cannot be loaded: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, kind)):
        needed = f"{kind.__module__}.{kind.__qualname__}"
        raise ValueError(f"{about} cannot be used: {entry.value} is no subclass of {needed}")  # noqa: TRY004 - as above
    return loaded


def built_in(target: str) -> Any:
    """What `module:attribute` names, imported now. Raises MissingExtra where the module needs a missing package."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def environment_names() -> tuple[str, ...]:
    """Every environment that a policy may name: ours, then those of other distributions. Raises as `plugins`."""
    return (*ENVIRONMENTS, *sorted(plugins(PluginGroup.ENVIRONMENTS, ENVIRONMENTS)))
