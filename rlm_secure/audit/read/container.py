"""Containers as rules see them: one set of names for Compose files and for the output of `docker inspect`.

`docker inspect` prints a list; with a format such as `{{json .}}` one object, or one object per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.audit.read.document import Document, KeyPath, read_json, read_json_lines
from rlm_secure.audit.read.yaml_document import read_yaml

#: The keys of a Compose file -> their names under HostConfig in the output of docker inspect.
_INSPECT = {
    "privileged": "Privileged",
    "network_mode": "NetworkMode",
    "pid": "PidMode",
    "ipc": "IpcMode",
    "userns_mode": "UsernsMode",
    "cap_add": "CapAdd",
    "cap_drop": "CapDrop",
    "security_opt": "SecurityOpt",
    "volumes": "Binds",
    "devices": "Devices",
    "pids_limit": "PidsLimit",
    "mem_limit": "Memory",
    "read_only": "ReadonlyRootfs",
    "cgroup": "CgroupnsMode",
    "masked_paths": "MaskedPaths",
    "readonly_paths": "ReadonlyPaths",
    "ulimits": "Ulimits",
}
#: Booleans that Compose also accepts as text, and the texts that mean true.
_TRUTHS = ("privileged", "read_only")
_TRUE = ("true", "1", "t", "y", "yes", "on")
#: The names of the two ends of a mount or a device, in Compose and in docker inspect.
_SOURCES = ("source", "Source", "PathOnHost")
_TARGETS = ("target", "Target", "Destination", "PathInContainer")


@dataclass(frozen=True, slots=True)
class Container:
    """One container. Its settings have the names of a Compose file."""

    name: str
    location: Location
    settings: Mapping[str, Any]
    _paths: Mapping[str, KeyPath]
    _document: Document

    def at(self, key: str, *index: int) -> Location:
        """The place of a setting, or of an element of it; of the container if the file does not contain it."""
        if key not in self._paths:
            return self.location
        return self._document.at(*self._paths[key], *index)

    def entries(self, key: str) -> list[tuple[int, str]]:
        """The elements of a list as strings; a volume or device in the long form becomes `source:target`."""
        value = self.settings.get(key) or []
        if not isinstance(value, list):
            return []
        return [(index, _entry(each)) for index, each in enumerate(value)]


@dataclass(frozen=True, slots=True)
class ContainerSubject:
    """The containers of one file."""

    file: str
    containers: tuple[Container, ...]


def parse(text: str, file: str, *, yaml: bool) -> Document:
    """Parse a Compose file or output of `docker inspect`: YAML, or JSON whatever the file's name. Raises Unreadable."""
    beginning = text.lstrip()[:1]
    if yaml or beginning not in ("{", "["):
        return read_yaml(text, file)
    first, _, rest = text.strip().partition("\n")
    one_a_line = first.startswith("{") and first.rstrip().endswith("}") and rest.strip()
    return read_json_lines(text, file) if one_a_line else read_json(text, file)


def read(document: Document) -> ContainerSubject:
    """The containers of a Compose file or of `docker inspect`. Raises Unreadable for anything else."""
    value = document.value
    if isinstance(value, dict) and isinstance(value.get("services"), dict):
        services = {name: each for name, each in value["services"].items() if isinstance(each, dict)}
        found = [_composed(document, name, each) for name, each in services.items()]
    else:
        entries: list[tuple[KeyPath, Any]] = [((), value)]
        if isinstance(value, list):
            entries = [((index,), each) for index, each in enumerate(value)]
        found = [_inspected(document, path, each) for path, each in entries if _is_inspected(each)]
    if not found:
        raise Unreadable("this is neither a Compose file with services nor what `docker inspect` prints")
    return ContainerSubject(document.file, tuple(found))


def _is_inspected(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("HostConfig"), dict)


def _composed(document: Document, name: str, service: dict[str, Any]) -> Container:
    path: KeyPath = ("services", name)
    settings = dict(service)
    settings |= {key: str(service[key]).lower() in _TRUE for key in _TRUTHS if isinstance(service.get(key), str)}
    paths: dict[str, KeyPath] = {key: (*path, key) for key in service}
    limits: Any = service
    for part in ("deploy", "resources", "limits"):
        limits = limits.get(part) if isinstance(limits, dict) else None
    for ours, theirs in (("mem_limit", "memory"), ("pids_limit", "pids")):
        if isinstance(limits, dict) and theirs in limits:
            settings[ours] = limits[theirs]
            paths[ours] = (*path, "deploy", "resources", "limits", theirs)
    return Container(name, document.at(*path), settings, paths, document)


def _inspected(document: Document, path: KeyPath, value: dict[str, Any]) -> Container:
    host, config = value["HostConfig"], value.get("Config")
    settings: dict[str, Any] = {}
    paths: dict[str, KeyPath] = {}
    for ours, theirs in _INSPECT.items():
        if theirs in host:
            settings[ours], paths[ours] = host[theirs], (*path, "HostConfig", theirs)
    if value.get("Mounts"):  # complete, while Binds has only those given in the short form
        settings["volumes"], paths["volumes"] = value["Mounts"], (*path, "Mounts")
    if "AppArmorProfile" in value:
        settings["apparmor"], paths["apparmor"] = value["AppArmorProfile"], (*path, "AppArmorProfile")
    if isinstance(config, dict) and "User" in config:
        settings["user"], paths["user"] = config["User"], (*path, "Config", "User")
    name = str(value.get("Name") or "container").lstrip("/")
    return Container(name, document.at(*path), settings, paths, document)


def _entry(value: Any) -> str:
    if isinstance(value, dict):
        source, target = (next((value[key] for key in keys if key in value), "") for keys in (_SOURCES, _TARGETS))
        return f"{source}:{target}"
    return str(value)
