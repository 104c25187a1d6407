"""The kubernetes environment: a hardened pod in a namespace without a network, and a sealed worker in it.

By default a pod gets its service account's token, the addresses of services, a writable root, and the image's user,
often root: here it gets none of these, and what the API admitted is compared with what was asked for.

The API server may end any exec stream, as when it restarts: the supervisor outlives its own. A pod cannot be renewed:
its first process ends it five minutes after everything else in it has ended, and the supervisor ends when its host is
silent. The kubelet ends it after `ttl_seconds` in any state.

With `warm_pool`, a claim of kubernetes-sigs/agent-sandbox takes a pod that runs already.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from rlm_secure.broker.signed import Around
from rlm_secure.environments.cloud.base import (
    UNRENEWED_SECONDS,
    CloudEnvironment,
    Made,
    Provider,
    SandboxPlan,
    is_pinned,
    need,
)
from rlm_secure.environments.cloud.cluster import (
    CLAIMS_API,
    NAME,
    Cluster,
    Execution,
    KubernetesError,
    kubeconfig,
    may_pass,
)
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.policy.model import GIB, MIB, Policy

#: The user of every process of a pod, and the only directory that it can write to: a file system in memory.
USER: Final = 65532
WORK: Final = "/rlm-secure"
#: Room for the files of a context that are there at a time (Provider.files), and the supervisor.
_WORK_SIZE: Final = "32Mi"
#: For the container's log alone: its root is read-only, and its work directory is memory.
_DISK: Final = "64Mi"
_CONTAINER: Final = "sandbox"
#: Waits until nothing else has run in the container for five minutes. `sleep` has ended when the processes are counted.
_FIRST_PROCESS: Final = (
    "idle=0; while [ $idle -lt 10 ]; do sleep 30; set -- /proc/[0-9]*; "
    "if [ $# -gt 1 ]; then idle=0; else idle=$((idle+1)); fi; done"
)

_POD_NAME: Final = "agents.x-k8s.io/pod-name"

#: Why a container does not start that no waiting changes.
_HOPELESS: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}
)
#: Why a claim will not be ready, as the client of agent-sandbox lists it.
_CLAIM_FAILED: Final = frozenset(
    {"ClaimExpired", "EnvVarsInjectionRejected", "InvalidConfiguration", "InvalidMetadata", "PodFailed", "PodSucceeded"}
    | {"SandboxExpired", "TemplateNotFound", "VolumeClaimTemplatesError", "WarmPoolNotFound"}
)
_QUANTITY = re.compile(r"([0-9]{1,15})(Ki|Mi|Gi|Ti|k|M|G|T)?")
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": MIB, "Gi": GIB, "Ti": 2**40}


class KubernetesEnvironment(CloudEnvironment):
    """Sessions in pods of a Kubernetes cluster, made from `image`, which is named by its digest and has Python 3.11 or
    newer; or taken from `warm_pool`, a SandboxWarmPool of agent-sandbox, whose template has the image.

    `kubeconfig` is KUBECONFIG by default, or the file of kubectl; `context` is one of it; `in_cluster` uses the service
    account of the pod in which this process runs instead. `namespace` has the NetworkPolicy of sandboxes/kubernetes. A
    pod gets `cpus` and `memory_gib` (what the policy needs by default), as request and limit. `runtime_class` names a
    RuntimeClass with a kernel of its own, such as gVisor's or Kata's. Raises ValueError for the transport "ingress".
    """

    name = "kubernetes"

    def __init__(
        self,
        image: str | None = None,
        warm_pool: str | None = None,
        kubeconfig: str | None = None,
        context: str | None = None,
        in_cluster: bool = False,
        namespace: str = "rlm-secure",
        runtime_class: str | None = None,
        cpus: float = 1,
        memory_gib: int | None = None,
        ttl_seconds: int = 3600,
        max_live: int = 20,
        create_seconds: float = 120.0,
        transport: str = "exec",
        reuse: bool = True,
    ) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds, transport, reuse)
        if transport == "ingress":
            raise ValueError("kubernetes has no ingress here: a pod's network is empty; use 'exec'")
        if image is not None and warm_pool is not None:
            raise ValueError("image or warm_pool, not both: the pods of a pool have the image of its template")
        if image is not None and not is_pinned(image):
            raise ValueError(f"an image is named by its digest, as in python@sha256:..., not {image!r}")
        for option, value in (("namespace", namespace), ("runtime_class", runtime_class), ("warm_pool", warm_pool)):
            if value is not None and not NAME.fullmatch(value):
                raise ValueError(f"{option} is the name of an object of the cluster, not {value!r}")
        if in_cluster and (kubeconfig is not None or context is not None):
            raise ValueError("in_cluster uses the pod's own service account; kubeconfig and context have no part in it")
        self._image = image
        self._warm_pool = warm_pool
        self._kubeconfig = kubeconfig
        self._context = context
        self._in_cluster = in_cluster
        self._namespace = namespace
        self._runtime_class = runtime_class
        self._size = (cpus, memory_gib)

    def provider(self, policy: Policy | None) -> KubernetesProvider:
        """See CloudEnvironment.provider. Sessions need an image or a pool; a sweep, without a policy, needs none."""
        need("kubernetes", self.name)
        path = None if self._in_cluster else kubeconfig(self._kubeconfig)
        if policy is not None and self._image is None and self._warm_pool is None:
            raise EnvironmentUnavailable(
                "kubernetes has no image of its own: pass image='python@sha256:...', by the digest that you reviewed, "
                "or warm_pool"
            )
        cpus, memory = self._size
        if memory is None:
            memory = math.ceil(self.memory_bytes(policy) / GIB)
        source = {"image": self._image or "", "warm_pool": self._warm_pool or ""}
        cluster = Cluster(path, self._context, self._namespace)
        return KubernetesProvider(cluster, source, self._runtime_class or "", (cpus, memory))


class KubernetesProvider(Provider):
    """Pods, or claims of pods, in one namespace of `cluster`. `source` has the image or the pool, `size` the processors
    and the GiB of a pod."""

    name = "kubernetes"
    network = "a NetworkPolicy of the namespace that allows nothing"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    pinned: ClassVar[bool] = True

    def __init__(
        self,
        cluster: Cluster,
        source: Mapping[str, str],
        runtime_class: str,
        size: tuple[float, int],
    ) -> None:
        self._cluster = cluster
        self.endpoint = cluster.endpoint
        self._image, self._warm_pool = source["image"], source["warm_pool"]
        self._runtime_class = runtime_class
        self._size = size
        self._pod = ""
        self._waiting = ""

    # -- the life of a pod ------------------------------------------------------------------------

    async def create(self, plan: SandboxPlan) -> Made:
        """See Provider.create."""
        asked = self.manifest(plan)
        self._waiting = "it was not created"
        if self._warm_pool:
            self._pod = await self._claim(plan)
            # Of a pool's template: what runs, for how long, and of which size. How it is confined is as of other pods.
            container = {name: each for name, each in asked["spec"]["containers"][0].items() if name in _CONFINED}
            spec = {name: each for name, each in asked["spec"].items() if name not in _OF_THE_TEMPLATE}
            asked = {"spec": {**spec, "containers": [container]}}
        else:
            admitted = await self._cluster.call("POST", self._cluster.path("pods"), body=asked)
            self._pod = plan.name
            self._check(asked, admitted)
        pod = await self._running_pod()
        self._check(asked, pod)
        self._waiting = ""
        container = pod["spec"]["containers"][0]
        image, limits = str(container["image"]), (container.get("resources") or {}).get("limits") or {}
        memory = _bytes(str(limits.get("memory")))
        if not is_pinned(image) or memory is None:
            raise PermissionError(f"the pod has no image by digest ({image}), or no limit of memory")
        facts: dict[str, Any] = {"image": image, "namespace": self._cluster.namespace}
        facts |= {"runtime_class": self._runtime_class or "none"}
        facts |= {"cpus": str(limits.get("cpu", "unlimited")), "memory_mib": memory // MIB}
        facts |= {"pod": self._pod, "warm_pool": self._warm_pool} if self._warm_pool else {}
        return Made(plan.name, memory, facts)

    def manifest(self, plan: SandboxPlan) -> dict[str, Any]:
        """The pod that is asked for."""
        cpus, memory = self._size
        size = {"cpu": f"{round(cpus * 1000)}m", "memory": f"{memory}Gi", "ephemeral-storage": _DISK}
        container = {
            "name": _CONTAINER,
            "image": self._image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["/bin/sh", "-c", _FIRST_PROCESS],
            "workingDir": WORK,
            "env": [],
            "envFrom": [],
            "ports": [],
            "stdin": False,
            "tty": False,
            "resources": {"requests": size, "limits": size},
            "volumeMounts": [{"name": "work", "mountPath": WORK}],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": [], "drop": ["ALL"]},
                "privileged": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        spec: dict[str, Any] = {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": plan.ttl_seconds,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostNetwork": False,
            "hostPID": False,
            "hostIPC": False,
            "shareProcessNamespace": False,
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["127.0.0.1"]},  # a name server is required, and nothing listens there
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [],
            "ephemeralContainers": [],
            "containers": [container],
            "volumes": [{"name": "work", "emptyDir": {"medium": "Memory", "sizeLimit": _WORK_SIZE}}],
        }
        if self._runtime_class:
            spec["runtimeClassName"] = self._runtime_class
        metadata = {"name": plan.name, "labels": dict(plan.labels)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    async def running(self) -> bool:
        """See Provider.running."""
        try:
            pod = await self._cluster.call("GET", self._cluster.path("pods", self._pod))
        except KubernetesError as error:
            if error.status != 404:
                raise
            return False
        return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]

    async def renew(self) -> None:
        """Read credentials that expire again: a pod itself needs no renewal."""
        await self._cluster.refresh()

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        try:
            await self._cluster.call("DELETE", self._cluster.path(self._kind, sandbox))
        except KubernetesError as error:
            if error.status != 404:
                raise

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        selector = urlencode({"labelSelector": ",".join(f"{name}={value}" for name, value in labels.items())})
        found = await self._cluster.call("GET", f"{self._cluster.path(self._kind)}?{selector}")
        described = [each["metadata"] for each in found["items"]]
        return [(str(each["name"]), each.get("labels") or {}) for each in described]

    async def close(self) -> None:
        """See Provider.close."""
        await self._cluster.close()

    # -- programs ---------------------------------------------------------------------------------

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        path = f"{WORK}/{name}"
        folder, file = shlex.quote(path.rpartition("/")[0]), shlex.quote(path)
        # What does not fit there would leave no room for the next one.
        command = f"umask 077; mkdir -p {folder} && {{ head -c {len(data)} >{file} || {{ rm -f {file}; exit 1; }}; }}"
        await self._cluster.feed(self._pod, _CONTAINER, command, data)  # the lease has the deadline
        return path

    async def run(self, command: str, stream: Stream) -> Execution:
        """See Provider.run."""
        return await self._cluster.run(self._pod, _CONTAINER, command, stream, lambda error: self.explain(error)[0])

    # -- claims of agent-sandbox --------------------------------------------------------------------

    async def _claim(self, plan: SandboxPlan) -> str:
        """Claim a pod of the warm pool; return its name. A claim with `env` would get a new pod, so it has none."""
        end = datetime.now(UTC) + timedelta(seconds=plan.ttl_seconds)
        body = {
            "apiVersion": CLAIMS_API.removeprefix("/apis/"),
            "kind": "SandboxClaim",
            "metadata": {"name": plan.name, "labels": dict(plan.labels)},
            "spec": {
                "warmPoolRef": {"name": self._warm_pool},
                "lifecycle": {"shutdownTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"), "shutdownPolicy": "Delete"},
            },
        }
        await self._cluster.call("POST", self._cluster.path("claims"), body=body)
        sandbox = None
        async for claim in self._cluster.polled(self._cluster.path("claims", plan.name)):
            status = claim.get("status") or {}
            sandbox, ready = (status.get("sandbox") or {}).get("name"), False
            for condition in status.get("conditions") or ():
                self._waiting = f"{condition.get('reason')}: {condition.get('message')}"
                if condition.get("reason") in _CLAIM_FAILED:
                    raise RuntimeError(f"the claim got no pod: {self._waiting}")
                ready = ready or (condition.get("type"), condition.get("status")) == ("Ready", "True")
            if sandbox and ready:
                break
        described = (await self._cluster.call("GET", self._cluster.path("sandboxes", str(sandbox))))["metadata"]
        return str((described.get("annotations") or {}).get(_POD_NAME) or sandbox)

    # -- what the cluster has ------------------------------------------------------------------------

    @property
    def _kind(self) -> str:
        """What is created, listed and deleted."""
        return "claims" if self._warm_pool else "pods"

    async def _running_pod(self) -> dict[str, Any]:
        """The pod, once its container runs. Raises RuntimeError, with the cluster's reason, where it will not."""
        async for pod in self._cluster.polled(self._cluster.path("pods", self._pod)):
            status = pod.get("status") or {}
            containers: list[dict[str, Any]] = status.get("containerStatuses") or [{}]
            state = containers[0].get("state") or {}
            unmet = (each for each in status.get("conditions") or () if each.get("status") == "False")
            why = state.get("waiting") or state.get("terminated") or next(unmet, status)
            self._waiting = f"{why.get('reason') or status.get('phase')}: {why.get('message') or ''}"
            if status.get("phase") == "Running" and "running" in state:
                return dict(pod)
            if status.get("phase") in ("Failed", "Succeeded") or why.get("reason") in _HOPELESS:
                raise RuntimeError(f"the pod does not run: {self._waiting}")
        raise AssertionError("it is asked for until it runs")

    def _check(self, asked: Mapping[str, Any], pod: Mapping[str, Any]) -> None:
        """Raise PermissionError where the cluster admitted another pod than was asked for, as its webhooks may do."""
        if wrong := sorted({*_differing(asked["spec"], pod["spec"]), *_added(pod["spec"], own=not self._warm_pool)}):
            raise PermissionError(
                f"the pod is not what was asked for ({', '.join(wrong)}): look at the cluster's admission webhooks, "
                "or at the pool's template"
            )

    # -- what is said -----------------------------------------------------------------------------

    def walls(self, around: Around, facts: str) -> Iterator[WallStatus]:
        """The container's walls, full where the supervisor's attempts were refused; a kernel of its own is the word of
        the cluster's RuntimeClass."""
        own, named = bool(self._runtime_class), f"runtime class {self._runtime_class}"
        said = named if own else "no runtime class: the node's own kernel"
        yield WallStatus(Wall.PROVIDER_VM, Level.VENDOR if own else Level.NONE, f"{said}; {facts}"[:300])
        held = {
            "root read-only": around.write_root in ("EROFS", "EACCES"),
            "sysctl read-only": around.write_sysctl not in ("won", None),
            "no capabilities": around.capabilities == "0" * 16 == around.bounding,
            "not root": around.uid == USER,
        }
        if not own:  # a kernel of its own applies the container's filter outside
            held |= {"no_new_privs": around.no_new_privs == 1, "seccomp": around.seccomp == 2}
        level = Level.FULL if all(held.values()) else Level.PARTIAL
        tried = ", ".join(f"{what}: {'yes' if yes else 'NO'}" for what, yes in held.items())
        yield WallStatus(Wall.CONTAINER, level, f"a pod, {said}; {tried}"[:300])

    def passing(self, error: BaseException) -> bool:
        """See Provider.passing."""
        return may_pass(error)

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit."""
        return error.retry_after if isinstance(error, KubernetesError) and error.full else None

    def explain(self, error: BaseException) -> tuple[str, bool]:
        """See Provider.explain. A timeout says what the pod waited for."""
        if isinstance(error, TimeoutError) and self._waiting:
            error = TimeoutError(f"the pod does not run: {self._waiting}")
        return super().explain(error)

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets."""
        return self._cluster.secrets()


#: What of a pod is its template's, and what of a container says how it is confined.
_OF_THE_TEMPLATE: Final = frozenset({"activeDeadlineSeconds", "restartPolicy", "terminationGracePeriodSeconds"})
_CONFINED: Final = frozenset({"name", "env", "envFrom", "ports", "securityContext", "stdin", "tty", "volumeMounts"})
#: What a cluster may change: quantities are measured from inside, and a digest is the same wherever it is pulled.
_FREE: Final = frozenset({"imagePullPolicy", "resources", "sizeLimit"})
#: What has a program of its own started in the container, and the resources that are no devices.
_PROGRAMS: Final = ("args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_SIZES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
#: What is allowed where a pod does not say that it is not.
_NOT_BY_DEFAULT: Final = frozenset({"allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks"})


def _added(spec: Mapping[str, Any], *, own: bool) -> Iterator[str]:
    """What no pod is asked to have: programs beside its first one where it is our `own` and not a template's, devices,
    and a weaker confinement, by dotted names."""
    at, container, pod = "containers[0]", spec["containers"][0], spec.get("securityContext") or {}
    yield from (f"{at}.{name}" for name in _PROGRAMS if own and container.get(name))
    resources, confined = container.get("resources") or {}, container.get("securityContext") or {}
    sizes = {*(resources.get("limits") or ()), *(resources.get("requests") or ())}
    found = {
        f"{at}.volumeDevices": container.get("volumeDevices"),
        f"{at}.resources": resources.get("claims") or sizes - _SIZES,
        f"{at}.securityContext.procMount": confined.get("procMount") not in (None, "", "Default"),
        "resourceClaims": spec.get("resourceClaims"),
        "securityContext.sysctls": pod.get("sysctls"),
    }
    for where, context in (("", pod), (f"{at}.", confined)):
        apparmor, selinux = context.get("appArmorProfile") or {}, context.get("seLinuxOptions") or {}
        found[f"{where}securityContext.appArmorProfile"] = apparmor.get("type") == "Unconfined"
        # Clusters give each namespace a level of its own, which takes nothing away.
        found[f"{where}securityContext.seLinuxOptions"] = {*selinux} - {"level"}
    yield from (name for name, each in found.items() if each)


def _differing(asked: Any, got: Any, at: str = "") -> Iterator[str]:
    """Where `got` is not as `asked`, by dotted names. The API leaves out what is empty or false, adds defaults, and
    writes quantities in another way."""
    if isinstance(asked, dict):
        found = got if isinstance(got, dict) else {}
        for name, value in asked.items():
            if name not in _FREE:
                yield from _differing(value, found.get(name), f"{at}.{name}" if at else name)
    elif isinstance(asked, list) and asked and isinstance(asked[0], dict):
        if not isinstance(got, list) or len(got) != len(asked):
            yield at
            return
        for number, value in enumerate(asked):
            yield from _differing(value, got[number], f"{at}[{number}]")
    elif got != asked and (asked or got or at.rpartition(".")[2] in _NOT_BY_DEFAULT):
        yield at


def _bytes(quantity: str) -> int | None:
    """A quantity of the API in bytes; None where it is none."""
    found = _QUANTITY.fullmatch(quantity)
    return int(found[1]) * _UNITS[found[2] or ""] if found else None


