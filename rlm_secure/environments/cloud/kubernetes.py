"""The kubernetes environment: a hardened pod in a namespace without a network, and a sealed worker in it.

What the SDK and the API do by default, and what is done here instead:
- A pod gets its service account's token, the addresses of services, a writable root, and the image's user, often root:
  here it gets none of these, and what the API admitted is compared with what was asked for.
- The SDK's exec helper takes one word, collects all output, and skips the kubeconfig's proxy: here the WebSocket is
  opened directly. Before v5 of its protocol nothing ends the input of a program, so a file is sent with its length.
- The SDK writes refreshed tokens into the kubeconfig, follows redirects with the token, and sends passwords of
  `~/.netrc`: here it does none of it.
- `insecure-skip-tls-verify` gives the token to whoever answers: it is refused.

The API server may end any exec stream, as when it restarts: the supervisor outlives its own. A pod cannot be renewed:
its first process ends it five minutes after everything else in it has ended, and the supervisor ends when its host is
silent. The kubelet ends it after `ttl_seconds` in any state.

With `warm_pool`, a claim of kubernetes-sigs/agent-sandbox takes a pod that runs already.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import math
import os
import re
import shlex
import time
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlencode, urlsplit

from rlm_secure.broker.signed import Around
from rlm_secure.environments.cloud.base import (
    UNRENEWED_SECONDS,
    CloudEnvironment,
    Made,
    Provider,
    SandboxPlan,
    is_pinned,
    need,
    retry_after,
)
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.policy.model import GIB, MIB, Policy
from rlm_secure.untrusted_json import MalformedJson, loads

#: The user of every process of a pod, and the only directory that it can write to: a file system in memory.
USER: Final = 65532
WORK: Final = "/rlm-secure"
_WORK_SIZE: Final = "16Mi"
#: For the container's log alone: its root is read-only, and its work directory is memory.
_DISK: Final = "64Mi"
_CONTAINER: Final = "sandbox"
#: Waits until nothing else has run in the container for five minutes. `sleep` has ended when the processes are counted.
_FIRST_PROCESS: Final = (
    "idle=0; while [ $idle -lt 10 ]; do sleep 30; set -- /proc/[0-9]*; "
    "if [ $# -gt 1 ]; then idle=0; else idle=$((idle+1)); fi; done"
)

_CLAIMS_API: Final = "/apis/extensions.agents.x-k8s.io/v1beta1"
_SANDBOXES_API: Final = "/apis/agents.x-k8s.io/v1beta1"
_POD_NAME: Final = "agents.x-k8s.io/pod-name"

#: Newest first. Version 5 can end a program's input.
_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
#: Largest message that is sent, as kubectl's.
_FRAME_BYTES: Final = 32 * 1024

_REQUEST_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 1.0
_POLL_SECONDS: Final = (0.1, 2.0)
#: Age at which credentials are read again: plugins of clouds give tokens for 15 minutes.
_CREDENTIALS_SECONDS: Final = 600.0
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})
#: Why a container does not start that no waiting changes.
_HOPELESS: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}
)
#: Why a claim will not be ready, as the client of agent-sandbox lists it.
_CLAIM_FAILED: Final = frozenset(
    {"ClaimExpired", "EnvVarsInjectionRejected", "InvalidConfiguration", "InvalidMetadata", "PodFailed", "PodSucceeded"}
    | {"SandboxExpired", "TemplateNotFound", "VolumeClaimTemplatesError", "WarmPoolNotFound"}
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
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
            if value is not None and not _NAME.fullmatch(value):
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
        path = None if self._in_cluster else _kubeconfig(self._kubeconfig)
        if policy is not None and self._image is None and self._warm_pool is None:
            raise EnvironmentUnavailable(
                "kubernetes has no image of its own: pass image='python@sha256:...', by the digest that you reviewed, "
                "or warm_pool"
            )
        cpus, memory = self._size
        if memory is None:
            memory = math.ceil(self.memory_bytes(policy) / GIB)
        source = {"image": self._image or "", "warm_pool": self._warm_pool or ""}
        place = {"namespace": self._namespace, "runtime_class": self._runtime_class or ""}
        return KubernetesProvider((path, self._context), source, place, (cpus, memory))


class KubernetesError(Exception):
    """What the API server answered instead of what was asked for. `status` is HTTP's; `reason` its Status object's;
    `retry_after` the seconds that it asks to wait for, 0 if it does not say."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{status} {reason}: {message}" if message else f"{status} {reason}")
        self.retry_after = retry_after
        self.status = status
        self.reason = reason
        self.message = message


class KubernetesProvider(Provider):
    """The API, with the connection, the credentials and the TLS of the SDK's asynchronous client.

    `connection` is the path of a kubeconfig (None: in the cluster) and one of its contexts, `size` the processors and
    the GiB of a pod.
    """

    name = "kubernetes"
    network = "a NetworkPolicy of the namespace that allows nothing"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    pinned: ClassVar[bool] = True

    def __init__(
        self,
        connection: tuple[str | None, str | None],
        source: Mapping[str, str],
        place: Mapping[str, str],
        size: tuple[float, int],
    ) -> None:
        self._connection = connection
        self.endpoint = " ".join((connection[0] or "in the cluster", connection[1] or "", place["namespace"]))
        self._image, self._warm_pool = source["image"], source["warm_pool"]
        self._namespace, self._runtime_class = place["namespace"], place["runtime_class"]
        self._size = size
        self._api: Any = None
        self._read_at = 0.0
        self._secrets: tuple[str, ...] = ()
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
            admitted = await self._call("POST", self._path("pods"), body=asked)
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
        facts: dict[str, Any] = {"image": image, "namespace": self._namespace}
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
            pod = await self._call("GET", self._path("pods", self._pod))
        except KubernetesError as error:
            if error.status != 404:
                raise
            return False
        return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]

    async def renew(self) -> None:
        """Read credentials that expire again: a pod itself needs no renewal."""
        if time.monotonic() - self._read_at > _CREDENTIALS_SECONDS:
            await self._configure(self._api.configuration)

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        try:
            await self._call("DELETE", self._path(self._kind, sandbox))
        except KubernetesError as error:
            if error.status != 404:
                raise

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        selector = urlencode({"labelSelector": ",".join(f"{name}={value}" for name, value in labels.items())})
        found = await self._call("GET", f"{self._path(self._kind)}?{selector}")
        described = [each["metadata"] for each in found["items"]]
        return [(str(each["name"]), each.get("labels") or {}) for each in described]

    async def close(self) -> None:
        """See Provider.close."""
        if self._api is not None:
            await self._api.close()

    # -- programs ---------------------------------------------------------------------------------

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        path = f"{WORK}/{name}"
        folder, file = shlex.quote(path.rpartition("/")[0]), shlex.quote(path)
        socket = await self._exec(f"umask 077; mkdir -p {folder} && head -c {len(data)} >{file}")
        try:
            await _send(socket, data)  # the lease has the deadline
            said = b""
            async for channel, piece in _messages(socket):
                if channel == _STDERR:
                    said = (said + piece)[-300:]
                if channel == _STATUS:
                    _completed(piece, said)
                    return path
        finally:
            await socket.close()
        raise ConnectionError("the exec stream ended while a file was sent")

    async def run(self, command: str, stream: Stream) -> _Execution:
        """See Provider.run."""
        return _Execution(await self._exec(command), stream, self)

    async def _exec(self, command: str) -> Any:
        """The WebSocket of a shell command in the pod."""
        import aiohttp

        api = await self._client()
        words = [("container", _CONTAINER), *((name, "true") for name in ("stdin", "stdout", "stderr"))]
        words += [("command", word) for word in ("/bin/sh", "-c", command)]
        target = f"{self._path('pods', self._pod)}/exec?{urlencode(words)}"
        _, url, headers, _, _ = await api.param_serialize("GET", target, auth_settings=["BearerToken"])
        try:
            socket = await api.rest_client.pool_manager.ws_connect(
                url,
                headers=headers,
                protocols=_PROTOCOLS,
                proxy=api.configuration.proxy,
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
            )
        except aiohttp.WSServerHandshakeError as error:  # its own text has the whole command
            raise KubernetesError(error.status, "exec was refused", "") from None
        if socket.protocol not in _PROTOCOLS:
            await socket.close()
            raise KubernetesError(101, "exec speaks another protocol", str(socket.protocol))
        return socket

    # -- claims of agent-sandbox --------------------------------------------------------------------

    async def _claim(self, plan: SandboxPlan) -> str:
        """Claim a pod of the warm pool; return its name. A claim with `env` would get a new pod, so it has none."""
        end = datetime.now(UTC) + timedelta(seconds=plan.ttl_seconds)
        body = {
            "apiVersion": _CLAIMS_API.removeprefix("/apis/"),
            "kind": "SandboxClaim",
            "metadata": {"name": plan.name, "labels": dict(plan.labels)},
            "spec": {
                "warmPoolRef": {"name": self._warm_pool},
                "lifecycle": {"shutdownTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"), "shutdownPolicy": "Delete"},
            },
        }
        await self._call("POST", self._path("claims"), body=body)
        async for claim in self._polled(self._path("claims", plan.name)):
            status = claim.get("status") or {}
            sandbox, ready = (status.get("sandbox") or {}).get("name"), False
            for condition in status.get("conditions") or ():
                self._waiting = f"{condition.get('reason')}: {condition.get('message')}"
                if condition.get("reason") in _CLAIM_FAILED:
                    raise RuntimeError(f"the claim got no pod: {self._waiting}")
                ready = ready or (condition.get("type"), condition.get("status")) == ("Ready", "True")
            if sandbox and ready:
                break
        described = (await self._call("GET", self._path("sandboxes", str(sandbox))))["metadata"]
        return str((described.get("annotations") or {}).get(_POD_NAME) or sandbox)

    # -- the API ----------------------------------------------------------------------------------

    @property
    def _kind(self) -> str:
        """What is created, listed and deleted."""
        return "claims" if self._warm_pool else "pods"

    def _path(self, kind: str, name: str = "") -> str:
        base, plural = {
            "pods": ("/api/v1", "pods"),
            "claims": (_CLAIMS_API, "sandboxclaims"),
            "sandboxes": (_SANDBOXES_API, "sandboxes"),
        }[kind]
        if name and not _NAME.fullmatch(name):  # it may be the cluster's own word
            raise ValueError(f"{name[:80]!r} is no name of an object")
        return f"{base}/namespaces/{self._namespace}/{plural}" + (f"/{name}" if name else "")

    async def _call(self, method: str, path: str, *, body: Any = None) -> dict[str, Any]:
        """The JSON object that the API answers. Raises KubernetesError, or what aiohttp raises."""
        import aiohttp

        api = await self._client()
        _, url, headers, _, _ = await api.param_serialize(method, path, auth_settings=["BearerToken"])
        timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
        response = await api.rest_client.request(method, url, headers=headers, body=body, _request_timeout=timeout)
        data = await response.read()
        try:
            said = loads(data)
        except MalformedJson:
            said = None
        if 200 <= response.status < 300 and isinstance(said, dict):
            return said
        status = said if isinstance(said, dict) else {}
        reason = str(status.get("reason") or response.reason)
        wait = retry_after(response.headers)
        raise KubernetesError(response.status, reason, str(status.get("message", "")), wait)

    async def _polled(self, path: str) -> Any:
        """An object, again and again; what fails for a moment is asked for again, until the lease's deadline."""
        pause, longest = _POLL_SECONDS
        while True:
            try:
                yield await self._call("GET", path)
            except KubernetesError as error:
                if not self.passing(error):
                    raise
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, longest)

    async def _running_pod(self) -> dict[str, Any]:
        """The pod, once its container runs. Raises RuntimeError, with the cluster's reason, where it will not."""
        async for pod in self._polled(self._path("pods", self._pod)):
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
        if wrong := sorted(_differing(asked["spec"], pod["spec"])):
            raise PermissionError(
                f"the pod is not what was asked for ({', '.join(wrong)}): look at the cluster's admission webhooks, "
                "or at the pool's template"
            )

    async def _client(self) -> Any:
        """The SDK's client, created on first use, on the loop."""
        if self._api is None:
            import aiohttp

            sdk = importlib.import_module("kubernetes.aio.client")
            configuration = sdk.Configuration()
            await self._configure(configuration)
            redirects = aiohttp.TraceConfig()
            redirects.on_request_redirect.append(_refuse_redirect)
            configuration.trace_configs = [redirects]
            configuration.client_session_kwargs = {"cookie_jar": aiohttp.DummyCookieJar(), "trust_env": False}
            self._api = sdk.ApiClient(configuration)
        return self._api

    async def _configure(self, configuration: Any) -> None:
        """Read the address and the credentials into the SDK's configuration."""
        sdk = importlib.import_module("kubernetes.aio.config")
        path, context = self._connection
        if path is None:
            sdk.load_incluster_config(client_configuration=configuration)
        else:
            options = {"context": context, "client_configuration": configuration}
            await sdk.load_kube_config(config_file=path, persist_config=False, **options)
        self._read_at = time.monotonic()
        token = _token(configuration)
        address = urlsplit(configuration.host)
        host = address.hostname or ""
        loopback = host in ("localhost", "::1") or host.startswith("127.")
        if not (configuration.proxy or loopback or urllib.request.proxy_bypass(host)):
            configuration.proxy = urllib.request.getproxies().get(address.scheme)
        behind = urlsplit(configuration.proxy or "").password
        self._secrets = tuple({*self._secrets, *(each for each in (token, behind) if each)})
        if not configuration.verify_ssl or (address.scheme != "https" and not loopback):
            raise PermissionError("the cluster's certificate is not verified, so that anybody may answer for it")
        if configuration.tls_server_name:
            raise ValueError("tls-server-name is not heeded by the SDK's streams; use an address that has the name")
        if address.scheme == "https" and not (token or configuration.cert_file):
            raise PermissionError("the kubeconfig gives no token and no certificate; does its plugin work?")

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
        import aiohttp

        if isinstance(error, KubernetesError):
            # Both pass: the quota is full until a pod ends, and two requests changed its count at once.
            conflict = (error.status, error.reason) == (409, "Conflict")
            return error.status in _PASSING or _is_full(error) or conflict
        certificate = isinstance(error, aiohttp.ClientSSLError)
        return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError) and not certificate

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit."""
        if not isinstance(error, KubernetesError) or not (error.status == 429 or _is_full(error)):
            return None
        return error.retry_after

    def explain(self, error: BaseException) -> tuple[str, bool]:
        """See Provider.explain. A timeout says what the pod waited for."""
        if isinstance(error, TimeoutError) and self._waiting:
            error = TimeoutError(f"the pod does not run: {self._waiting}")
        return super().explain(error)

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets. The SDK reads the token of a service account anew, so the current one is among them."""
        current = _token(self._api.configuration) if self._api is not None else ""
        return (*self._secrets, current) if current else self._secrets


def _is_full(error: KubernetesError) -> bool:
    """Whether the namespace's quota is full until a pod ends."""
    return error.status == 403 and "exceeded quota" in error.message


class _Execution:
    """One program in a pod, and the task that reads its channels."""

    def __init__(self, socket: Any, stream: Stream, provider: KubernetesProvider) -> None:
        self._socket = socket
        self._half_sent = False
        self._reader = asyncio.ensure_future(self._read(stream, provider))

    async def write(self, data: bytes) -> None:
        """See Program.write. Nothing follows a write that broke off: it would continue half a line."""
        if self._half_sent:
            raise RuntimeError("the exec stream broke in the middle of a line")
        self._half_sent = True
        await _send(self._socket, data)
        self._half_sent = False

    async def close(self) -> None:
        """See Program.close."""
        if self._socket.protocol == _PROTOCOLS[0]:
            with contextlib.suppress(Exception):  # it ended by itself
                await self._socket.send_bytes(bytes((_CLOSE, _STDIN)))
        await self.drop()

    async def drop(self) -> None:
        """See Program.drop."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._socket.close()

    async def _read(self, stream: Stream, provider: KubernetesProvider) -> None:
        why = "the exec stream broke off"
        try:
            async for channel, data in _messages(self._socket):
                if channel == _STDOUT:
                    await stream.feed(data)
                elif channel == _STDERR:
                    stream.complain(data)
                elif channel == _STATUS:
                    _completed(data)
                    why = ""
        except KubernetesError as error:
            # A program that ended with an exit status has ended; anything else means that it may not have run.
            why = "" if error.reason == "NonZeroExitCode" else provider.explain(error)[0]
        except Exception as error:  # noqa: BLE001 - aiohttp has several base exceptions
            why = provider.explain(error)[0]
        stream.finish(why)


async def _send(socket: Any, data: bytes) -> None:
    for at in range(0, len(data), _FRAME_BYTES):
        await socket.send_bytes(bytes((_STDIN,)) + data[at : at + _FRAME_BYTES])


async def _messages(socket: Any) -> Any:
    """Channel and data of each message that has data, until the stream closes or breaks."""
    import aiohttp

    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY:
            return
        if len(message.data) > 1:  # the first one of a stream is empty
            yield message.data[0], message.data[1:]


def _completed(data: bytes, said: bytes = b"") -> None:
    """Read the last message of a stream, a Status. Raises KubernetesError where the program did not succeed."""
    try:
        status = loads(data)
    except MalformedJson as error:
        raise KubernetesError(101, "exec told no status", str(error)) from None
    if not isinstance(status, dict) or status.get("status") != "Success":
        told = status if isinstance(status, dict) else {}
        message = f"{told.get('message', '')} {said.decode('utf-8', 'replace')}".strip()
        raise KubernetesError(101, str(told.get("reason", "exec failed")), message)


async def _refuse_redirect(*_: Any) -> None:
    raise PermissionError("the cluster redirects a request, which would take the token elsewhere")


#: What of a pod is its template's, and what of a container says how it is confined.
_OF_THE_TEMPLATE: Final = frozenset({"activeDeadlineSeconds", "restartPolicy", "terminationGracePeriodSeconds"})
_CONFINED: Final = frozenset({"name", "env", "envFrom", "ports", "securityContext", "stdin", "tty", "volumeMounts"})
#: What a cluster may change: quantities are measured from inside, and a digest is the same wherever it is pulled.
_FREE: Final = frozenset({"imagePullPolicy", "resources", "sizeLimit"})
#: What is allowed where a pod does not say that it is not.
_NOT_BY_DEFAULT: Final = frozenset({"allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks"})


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


def _token(configuration: Any) -> str:
    """What the SDK authenticates with, without the word before it."""
    return str(configuration.api_key.get("BearerToken", "")).partition(" ")[2].strip()


def _bytes(quantity: str) -> int | None:
    """A quantity of the API in bytes; None where it is none."""
    found = _QUANTITY.fullmatch(quantity)
    return int(found[1]) * _UNITS[found[2] or ""] if found else None


def _kubeconfig(path: str | None) -> str:
    """The kubeconfig's path, or paths. Raises EnvironmentUnavailable where there is none."""
    found = path or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if not any(Path(each).expanduser().is_file() for each in found.split(os.pathsep) if each):
        said = "Kubernetes needs an API key or a certificate: set KUBECONFIG, or pass kubeconfig, or in_cluster=True"
        raise EnvironmentUnavailable(said)
    return found
