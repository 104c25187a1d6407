"""What is asked of each provider when a sandbox is made, as it goes over the wire; and the page that lists it.

`python -m tests.clouds.hardening` writes the tables into sandboxes/CLOUDS.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.clouds.conftest import Cloud, limits
from tests.emulators.kubernetes import IMAGE as POD_IMAGE

PAGE = Path(__file__).parents[2] / "sandboxes" / "CLOUDS.md"
BASE = "python@sha256:" + "a" * 64

#: Fields that every create call has: what they must be, and what that means. A field that is not here fails.
Rows = dict[str, tuple[Any, str]]


def label(value: object) -> bool:
    return re.fullmatch(r"[0-9a-f]{16}(-[0-9]+-[0-9]+)?|1", str(value)) is not None


LABELS = {
    "rlm-secure": (label, "ours: what `sweep` looks for"),
    "rlm-secure-owner": (label, "whose: the machine's boot (hashed), process and start"),
    "rlm-secure-attempt": (label, "which attempt to make one: what a failed one left behind is found by it"),
}
E2B: Rows = {
    "templateID": ("rlm-secure-sandbox-1", "a template of ours: its contents, processors and memory are pinned"),
    "timeout": (300, "ends after 5 minutes that nobody renews, and after `ttl_seconds` in any case"),
    "autoPause": (False, "the end is the end: no snapshot of its memory is kept"),
    "allow_internet_access": (False, "no network"),
    "network.denyOut": (["0.0.0.0/0"], "no network, by the other switch as well"),
    "network.allowOut": ([], "no exception"),
    "network.allowPublicTraffic": (False, "no port is public"),
    "envVars": ({}, "no secret, no variable"),
    **{f"metadata.{name}": row for name, row in LABELS.items()},
}
DAYTONA: Rows = {
    "name": (lambda value: re.fullmatch("rlm-secure-[0-9a-f]{16}", value), "a name of its own"),
    "env": ({}, "no secret, no variable"),
    "public": (False, "no port is public"),
    "networkBlockAll": (True, "no network; the answer is checked as well"),
    "target": ("us", "the region, never from a file in the current directory"),
    "ttlMinutes": (60, "ends after `ttl_seconds`, in any state"),
    "autoStopInterval": (5, "stops after 5 minutes that nobody renews"),
    "autoDeleteInterval": (0, "what stops is deleted"),
    "volumes": ([], "no volume"),
    "labels.code-toolbox-language": ("python", "the SDK's own"),
    **{f"labels.{name}": row for name, row in LABELS.items()},
}
SNAPSHOT: Rows = {"snapshot": ("rlm-secure-sandbox-1", "a snapshot of ours: its contents and size are pinned")}
IMAGE: Rows = {
    "buildInfo.dockerfileContent": (lambda value: value.startswith(f"FROM {BASE}\n"), "an image by its digest"),
    "cpu": (1, "processors"),
    "memory": (1, "GiB: what the policy grants a worker, and 256 MiB"),
    "disk": (3, "GiB"),
}
PRIME: Rows = {
    "name": (lambda value: re.fullmatch("rlm-secure-[0-9a-f]{16}", value), "a name of its own"),
    "docker_image": ("user-1/rlm-secure-sandbox:1", "an image of the account's own, with its owner, or one by its digest"),
    "cpu_cores": (1, "processors"),
    "memory_gb": (1, "what the policy grants a worker, and 256 MiB"),
    "disk_size_gb": (5, "GB"),
    "gpu_count": (0, "none"),
    "vm": (True, "a virtual machine, never a container"),
    "network_allowlist": ([], "no network, names included; what is applied is asked for as well"),
    "timeout_minutes": (60, "ends after `ttl_seconds`, in any state"),
    "idle_timeout_minutes": (5, "ends after 5 minutes in which no command runs"),
    "environment_vars": ({}, "no secret, no variable"),
    "secrets": ({}, "no secret"),
    "volumes": ([], "no volume"),
    "labels": (
        lambda value: [each.partition("=")[0] for each in value] == list(LABELS)
        and all(label(each.partition("=")[2]) for each in value),
        "ours, whose, and which attempt to make one: the three of the others, as `name=value`",
    ),
    "idempotency_key": (label, "the attempt: a request that is sent again makes no second sandbox"),
}
MODAL: Rows = {
    "app_id": (lambda value: value.startswith("ap-"), "the app `rlm-secure`, which sandboxes are swept in"),
    "definition.name": (
        lambda value: re.fullmatch("rlm-secure-[0-9a-f]{16}", value),
        "a name that only one can have: a request that is sent again makes no second sandbox",
    ),
    "definition.image_id": ("im-own", "an image of the account's own, or one by its digest"),
    "definition.entrypoint_args": (["sleep", "3600"], "nothing runs by itself, and it ends after `ttl_seconds`"),
    "definition.timeout_secs": (3600, "ends after `ttl_seconds`, in any state"),
    "definition.idle_timeout_secs": (300, "ends after 5 minutes in which no command runs"),
    "definition.resources.milli_cpu": (1000, "processors"),
    "definition.resources.milli_cpu_max": (1000, "and no more"),
    "definition.resources.memory_mb": (1024, "what the policy grants a worker, and 256 MiB, in whole GiB"),
    "definition.resources.memory_mb_max": (1024, "and no more"),
    "definition.resources.gpu_config": ({}, "none"),
    "definition.network_access.network_access_type": ("BLOCKED", "no network, in neither direction"),
    "definition.open_ports": ({}, "no tunnel"),
    "tags": (
        lambda value: [each["tag_name"] for each in value] == list(LABELS)
        and all(label(each["tag_value"]) for each in value),
        "ours, whose, and which attempt to make one: the three of the others",
    ),
}
CONTAINER: Rows = {
    "name": ("sandbox", "the only container"),
    "image": (POD_IMAGE, "an image by its digest"),
    "imagePullPolicy": ("IfNotPresent", "a digest cannot move"),
    "command": (lambda value: value[:2] == ["/bin/sh", "-c"], "ends 5 minutes after everything else in it has ended"),
    "workingDir": ("/rlm-secure", "the only place that can be written to"),
    "env": ([], "no secret, no variable; an admission webhook that adds one gets no session"),
    "envFrom": ([], "the same"),
    "ports": ([], "no port"),
    "stdin": (False, "its first process reads nothing"),
    "tty": (False, "no terminal"),
    **{
        f"resources.{kind}.{name}": row
        for kind in ("requests", "limits")
        for name, row in {
            "cpu": ("1000m", "processors, the same as request and as limit"),
            "memory": ("1Gi", "what the policy grants a worker, and 256 MiB, in whole GiB"),
            "ephemeral-storage": ("64Mi", "for the container's log"),
        }.items()
    },
    "volumeMounts": ([{"name": "work", "mountPath": "/rlm-secure"}], "the work directory alone"),
    "securityContext.allowPrivilegeEscalation": (False, "no_new_privs"),
    "securityContext.capabilities.add": ([], "none"),
    "securityContext.capabilities.drop": (["ALL"], "none is left"),
    "securityContext.privileged": (False, "no device, no mount of the node"),
    "securityContext.readOnlyRootFilesystem": (True, "the image cannot be changed"),
    "securityContext.runAsNonRoot": (True, "never root"),
    "securityContext.runAsUser": (65532, "a user of no other program"),
    "securityContext.runAsGroup": (65532, "and its group"),
    "securityContext.seccompProfile.type": ("RuntimeDefault", "the runtime's filter, around our own"),
}
KUBERNETES: Rows = {
    "apiVersion": ("v1", ""),
    "kind": ("Pod", "no controller that would start another one"),
    "metadata.name": (
        lambda value: re.fullmatch("rlm-secure-[0-9a-f]{16}", value),
        "a name that only one can have: a request that is sent again makes no second pod",
    ),
    **{f"metadata.labels.{name}": row for name, row in LABELS.items()},
    "spec.restartPolicy": ("Never", "the end is the end"),
    "spec.activeDeadlineSeconds": (3600, "the kubelet ends it after `ttl_seconds`, in any state"),
    "spec.terminationGracePeriodSeconds": (0, "it is killed, not asked"),
    "spec.automountServiceAccountToken": (False, "no token of the cluster"),
    "spec.enableServiceLinks": (False, "no addresses of other services"),
    "spec.hostNetwork": (False, "no network of the node"),
    "spec.hostPID": (False, "no processes of the node"),
    "spec.hostIPC": (False, "no memory of the node's processes"),
    "spec.shareProcessNamespace": (False, "no processes of another container"),
    "spec.dnsPolicy": ("None", "no names of the cluster"),
    "spec.dnsConfig.nameservers": (["127.0.0.1"], "where nothing listens: the API wants one"),
    "spec.securityContext.runAsNonRoot": (True, "as below"),
    "spec.securityContext.runAsUser": (65532, "as below"),
    "spec.securityContext.runAsGroup": (65532, "as below"),
    "spec.securityContext.seccompProfile.type": ("RuntimeDefault", "as below"),
    "spec.initContainers": ([], "none; a webhook that adds one gets no session"),
    "spec.ephemeralContainers": ([], "none"),
    "spec.volumes": (
        [{"name": "work", "emptyDir": {"medium": "Memory", "sizeLimit": "32Mi"}}],
        "one directory in the pod's own memory; nothing of the node, no token",
    ),
    **{f"spec.containers[0].{name}": row for name, row in CONTAINER.items()},
}
CALLS: dict[str, tuple[str, dict[str, Any], Rows]] = {
    "E2B, from a template": ("e2b", {}, E2B),
    "Daytona, from a snapshot": ("daytona", {}, DAYTONA | SNAPSHOT),
    "Daytona, from an image": ("daytona", {"image": BASE}, DAYTONA | IMAGE),
    "Modal, from an image": ("modal", {}, MODAL),
    "Prime, from an image": ("prime", {}, PRIME),
    "Kubernetes, from an image": ("kubernetes", {}, KUBERNETES),
}


def flat(body: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as dotted names; empty ones stay, and a pod has one container."""
    found: dict[str, Any] = {}
    for name, value in body.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{prefix}{name}.")
        elif name == "containers":
            (only,) = value
            found |= flat(only, f"{prefix}{name}[0].")
        else:
            found[prefix + name] = value
    return found


def recorded(provider: str, options: dict[str, Any]) -> dict[str, Any]:
    """The create call of a session, as the real SDK sent it."""
    cloud = Cloud(provider)
    try:
        with cloud.environment(**options).session(limits()):
            (made,) = cloud.emulator.recorded(cloud.wire.create)
        return flat(made.json)
    finally:
        cloud.emulator.close()


def wrong(provider: str, body: dict[str, Any], rows: Rows) -> list[str]:
    """What in a create call is not as it must be, in sentences that name the provider."""
    found = [f"{provider}: {name} was not asked for" for name in rows.keys() - body.keys()]
    for name, value in body.items():
        if name not in rows:
            found.append(f"{provider}: the SDK sends {name} = {value!r}, which nobody has reviewed")
            continue
        expected = rows[name][0]
        if not (expected(value) if isinstance(expected, Callable) else value == expected):
            found.append(f"{provider}: {name} is {value!r}")
    return sorted(found)


def table(title: str, body: dict[str, Any], rows: Rows) -> str:
    lines = [f"### {title}", "", "| field of the create call | value | why |", "| --- | --- | --- |"]
    for name, (expected, why) in rows.items():
        value = "(varies)" if isinstance(expected, Callable) else f"`{json.dumps(body[name])}`"
        lines.append(f"| `{name}` | {value} | {why} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with its generated part made anew."""
    tables = "\n\n".join(table(title, recorded(name, options), rows) for title, (name, options, rows) in CALLS.items())
    begin, end = "<!-- generated: python -m tests.clouds.hardening -->", "<!-- end -->"
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n\n{tables}\n\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
