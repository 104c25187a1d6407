"""A Kubernetes API server: pods, exec over a WebSocket, and claims of agent-sandbox; behind each pod a container of the
local Docker engine, with what the pod's security context says.

What may be done is read from the roles of sandboxes/kubernetes. What the API does not know of a pod is dropped, as by a
server, by the models of the official client.
"""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rlm_secure.removal import remove
from rlm_secure.resources import sandboxes_dir
from tests.emulators.base import Emulator, Fault, Program, Request, Response, Sandbox, answer

#: Where the engine listens, and what it has.
ENGINE = "/run/docker.sock"
BASE = "rlm-secure-test-base"
#: What the API calls that image, and one that no registry has.
IMAGE = "registry.example/rlm-secure/sandbox@sha256:" + "a" * 64
MISSING = "registry.example/no-such-thing@sha256:" + "b" * 64
CLAIMS = "extensions.agents.x-k8s.io"
SANDBOXES = "agents.x-k8s.io"
_RULE = ("apiGroups", "resources", "verbs")
_LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "AlreadyExists"} | {
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"
}  # fmt: skip


def status(code: int, message: str, reason: str = "") -> Response:
    """A Status object, as every failure of the API is one."""
    reason = reason or _REASONS.get(code, "")
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return answer({**told, "reason": reason, "code": code}, code)


class KubernetesEmulator(Emulator):
    """One namespace. `protocols` are those of its exec, `network` is what the engine gives to pods, `python` replaces
    their interpreter, `quota` is the most of them, `changed` is what an admission webhook makes of a pod."""

    namespace = "rlm-secure"
    protocols = ("v5.channel.k8s.io", "v4.channel.k8s.io")
    network = "none"
    python = ""
    quota = 50
    #: Seconds until a pod runs, and why it does not.
    creating_seconds = 0.1
    waiting: dict[str, str] | None = None

    def __init__(self) -> None:
        subprocess.run([Path(__file__).parents[1] / "docker" / "base_image.sh", BASE], check=True)
        super().__init__()
        self.claims: dict[str, dict[str, Any]] = {}
        #: The file of roles that its user has, and what of it is taken away, or added.
        self.roles = "rbac.yaml"
        self.without: tuple[str, str] | None = None
        self.also: list[dict[str, list[str]]] = []
        self.changed: Any = lambda pod: pod
        #: The engine's name of each image that it can pull.
        self.images = {IMAGE: BASE}
        self._folder = Path(tempfile.mkdtemp(prefix="kube-", dir="/tmp"))
        self.kubeconfig = self.write_kubeconfig(self.key)

    def write_kubeconfig(self, token: str, **cluster: Any) -> str:
        """A kubeconfig for this server; `cluster` are further settings."""
        path = self._folder / f"config-{len(list(self._folder.iterdir()))}"
        named = {"name": "emulated", "context": {"cluster": "emulated", "user": "host", "namespace": "default"}}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "emulated",
            "contexts": [named],
            "clusters": [{"name": "emulated", "cluster": {"server": self.url, **cluster}}],
            "users": [{"name": "host", "user": {"token": token}}],
        }
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return str(path)

    def close(self) -> None:
        super().close()
        remove(self._folder)

    def error(self, code: int, message: str) -> Response:
        return status(code, message)

    def handle(self, request: Request) -> Response:
        if request.path.endswith("/exec"):  # which of them it is stands in its query
            words = [value for name, value in request.fields if name == "command"]
            request.path += "/upload" if "head -c" in words[-1] else "/run"
        return super().handle(request)

    def route(self, request: Request) -> Response:
        self._expire()
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if (scheme.lower(), token) != ("bearer", self.key):
            return status(401, "Unauthorized")
        parts = request.path.strip("/").split("/")
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        if rest[:2] != ["namespaces", self.namespace]:
            return self._forbidden(request.method.lower(), "pods", group)
        rest = rest[2:]
        if refused := self._refused(request, group, rest):
            return refused
        match [request.method, *rest]:
            case ["POST", "pods"]:
                return self._create(request)
            case ["GET", "pods"]:
                return answer({"kind": "PodList", "items": [self._describe(each) for each in self._selected(request)]})
            case ["GET", "pods", name] if name in self.sandboxes:
                return answer(self._describe(self.sandboxes[name]))
            case ["DELETE", "pods", name] if name in self.sandboxes:
                told = self._describe(self.sandboxes[name])
                self.vanish(name)
                return answer(told)
            case ["GET", "pods", name, "exec", _] if name in self.sandboxes:
                return self._exec(self.sandboxes[name], request)
            case ["POST", "sandboxclaims"]:
                return self._claim(request)
            case ["GET", "sandboxclaims"] if "watch" in request.query:
                events = ({"type": "ADDED", "object": each} for each in self._claims(request))
                return Response(stream=(json.dumps(each).encode() + b"\n" for each in events))
            case ["GET", "sandboxclaims"]:
                return answer({"kind": "SandboxClaimList", "items": self._claims(request)})
            case ["GET", "sandboxclaims", name] if name in self.claims:
                return answer(self.claims[name])
            case ["DELETE", "sandboxclaims", name] if name in self.claims:
                claim = self.claims.pop(name)
                self.vanish(claim["status"]["sandbox"]["name"])
                return answer({"kind": "Status", "status": "Success"})
            case ["GET", "sandboxes", name] if name in self.sandboxes:
                notes = {f"{SANDBOXES}/pod-name": name}
                return answer({"kind": "Sandbox", "metadata": {"name": name, "annotations": notes}})
        return status(404, f'{rest[0]} "{rest[1] if len(rest) > 1 else ""}" not found')

    # -- who may do what --------------------------------------------------------------------------

    def _refused(self, request: Request, group: str, rest: list[str]) -> Response | None:
        resource = "pods/exec" if rest[2:3] == ["exec"] else rest[0]
        verbs = {"POST": ["create"], "DELETE": ["delete"], "GET": ["get" if len(rest) > 1 else "list"]}
        if "watch" in request.query:
            verbs["GET"] = ["watch"]
        if resource == "pods/exec":
            verbs["GET"] = ["get", "create"]  # from 1.35 on
        for verb in verbs.get(request.method, [request.method.lower()]):
            asked = (group, resource, verb)
            held = any(all(each in rule[of] for each, of in zip(asked, _RULE, strict=True)) for rule in self.rules)
            if not held or self.without == (resource, verb):
                return self._forbidden(verb, resource, group)
        return None

    @property
    def rules(self) -> list[dict[str, Any]]:
        return _rules(sandboxes_dir() / "kubernetes" / self.roles) + self.also

    def _forbidden(self, verb: str, resource: str, group: str) -> Response:
        who = f"system:serviceaccount:{self.namespace}:rlm-secure-host"
        where = f'in API group "{group}" in the namespace "{self.namespace}"'
        return status(403, f'{resource} is forbidden: User "{who}" cannot {verb} resource "{resource}" {where}')

    # -- pods -------------------------------------------------------------------------------------

    def _create(self, request: Request) -> Response:
        pod = pruned(request.json)
        name = pod["metadata"]["name"]
        if wrong := invalid(pod):
            return status(422, f'Pod "{name}" is invalid: {wrong}')
        if wrong := unrestricted(pod):
            return status(403, f'pods "{name}" is forbidden: violates PodSecurity "restricted:latest": {wrong}')
        if name in self.sandboxes:
            return status(409, f'pods "{name}" already exists')
        if len(self.sandboxes) >= self.quota:
            return status(403, f'pods "{name}" is forbidden: exceeded quota: sandboxes, requested: pods=1, limited: pods={self.quota}')
        return answer(self._describe(self._start(self.changed(pod))), 201)

    def _start(self, pod: dict[str, Any]) -> Pod:
        box = Pod(pod, self)
        seconds = pod["spec"].get("activeDeadlineSeconds")
        box.ends_at = time.monotonic() + seconds if seconds else None
        with self.lock:
            self.sandboxes[box.name] = box
            self.made.append(box)
        threading.Thread(target=box.run, name="emulator-kubelet", daemon=True).start()
        return box

    def _expire(self) -> None:
        for box in self.live:
            assert isinstance(box, Pod)
            if box.ends_at is not None and time.monotonic() >= box.ends_at and not box.dead:
                box.reason = "DeadlineExceeded"
                box.kill()

    def _selected(self, request: Request) -> list[Pod]:
        return [each for each in self.live if selects(request, each.request["metadata"].get("labels", {}))]

    def _describe(self, box: Pod) -> dict[str, Any]:
        told = json.loads(json.dumps(box.request))
        started = box.started and time.monotonic() >= box.made_at + self.creating_seconds and self.waiting is None
        image = told["spec"]["containers"][0]["image"]
        waiting = self.waiting or {"reason": "ContainerCreating"}
        if image not in self.images:
            started, waiting = False, {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}": not found'}
        if box.dead:
            state: dict[str, Any] = {"terminated": {"exitCode": 137, "reason": "Error"}}
        else:
            state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}} if started else {"waiting": waiting}
        phase = "Failed" if box.dead else "Running" if started else "Pending"
        statuses = [{"name": "sandbox", "ready": started, "state": state}]
        told["status"] = {"phase": phase, "containerStatuses": statuses}
        if box.reason:
            told["status"]["reason"] = box.reason
        told["metadata"] |= {"namespace": self.namespace, "uid": f"uid-{box.name}", "resourceVersion": "1"}
        return told

    # -- exec -------------------------------------------------------------------------------------

    def _exec(self, box: Pod, request: Request) -> Response:
        offered = [each.strip() for each in request.headers.get("sec-websocket-protocol", "").split(",")]
        spoken = [each for each in offered if each in self.protocols]
        if request.headers.get("upgrade", "").lower() != "websocket" or not spoken:
            return status(400, "Upgrade request required")
        if box.dead or time.monotonic() < box.made_at + self.creating_seconds:
            return status(500, 'container not found ("sandbox")')
        words = [value for name, value in request.fields if name == "command"]
        program = box.start(words, stdin=request.query.get("stdin") == "true")
        over = threading.Event()

        def hear(data: bytes | None) -> bool:
            """A message of the client; None is the end of its connection, which ends the program's input."""
            if data is None:
                over.set()
                program.close_stdin()
                return False
            if data[:1] == b"\xff" and spoken[0].startswith("v5"):
                program.close_stdin()
                return True
            if data[:1] != b"\0":
                return True
            return self._heard(Request("SEND", request.path, {}, {}, data[1:]), program)

        messages = self._messages(program, program.listen(), over)
        return Response(socket=True, stream=messages, hear=hear, headers={"Sec-WebSocket-Protocol": spoken[0]})

    def _heard(self, message: Request, program: Program) -> bool:
        """Input of a program. It has no answer, so a fault of it is the end of its stream."""
        with self.lock:
            self.requests.append(message)
            fault: Fault | None = self._fault(message)
        if fault is not None:
            self.closing.wait(fault.slow)
            if fault.status and not fault.after:
                return False
        program.write(message.body)
        return fault is None or not fault.status

    def _messages(self, program: Program, output: queue.Queue[tuple[str, bytes]], over: threading.Event) -> Iterator[bytes]:
        yield b"\x01"  # that it is connected
        while not self.closing.is_set() and not over.is_set():
            try:
                kind, data = output.get(timeout=0.1)
            except queue.Empty:
                continue
            if kind != "end":
                yield (b"\x01" if kind == "stdout" else b"\x02") + data
                continue
            code = program.process.returncode
            told: dict[str, Any] = {"metadata": {}, "status": "Success"}
            if code:
                causes = [{"reason": "ExitCode", "message": str(code)}]
                message = f"command terminated with non-zero exit code: exit code {code}"
                told |= {"status": "Failure", "reason": "NonZeroExitCode", "message": message, "details": {"causes": causes}}
            yield b"\x03" + json.dumps(told).encode()
            return

    # -- agent-sandbox ----------------------------------------------------------------------------

    def warm(self, count: int, **changed: Any) -> list[Pod]:
        """Pods of the pool, from the template in sandboxes/kubernetes with the emulator's image."""
        text = (sandboxes_dir() / "kubernetes" / "agent-sandbox" / "template.yaml").read_text(encoding="utf-8")
        template = next(each for each in yaml.safe_load_all(text) if each["kind"] == "SandboxTemplate")
        spec = template["spec"]["podTemplate"]["spec"] | changed
        spec["containers"][0]["image"] = IMAGE
        pods = [pruned({"metadata": {"name": f"rlm-secure-pool-{number}"}, "spec": spec}) for number in range(count)]
        assert not any(invalid(pod) or unrestricted(pod) for pod in pods)
        return [self._start(pod) for pod in pods]

    def _claim(self, request: Request) -> Response:
        """The controller's part as well: it gives the claim a pod that runs and that nobody has."""
        claim = request.json
        spec, name = claim["spec"], claim["metadata"]["name"]
        if claim["apiVersion"] != f"{CLAIMS}/v1beta1" or not spec.get("warmPoolRef", {}).get("name"):
            return status(422, f'SandboxClaim "{name}" is invalid: spec.warmPoolRef: Required value')
        if name in self.claims:
            return status(409, f'sandboxclaims "{name}" already exists')
        taken = {each["status"]["sandbox"]["name"] for each in self.claims.values()}
        free = [box.name for box in self.live if box.name not in taken]
        condition = {"type": "Ready", "status": "True", "reason": "DependenciesReady"}
        if not free or spec.get("env"):
            condition = {"type": "Ready", "status": "False", "reason": "WarmPoolNotFound", "message": "no pod is warm"}
        claim["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1"}
        made = answer(claim, 201)  # its status comes later
        claim["status"] = {"sandbox": {"name": free[0] if free else ""}, "conditions": [condition]}
        self.claims[name] = claim
        return made

    def _claims(self, request: Request) -> list[dict[str, Any]]:
        return [each for each in self.claims.values() if selects(request, each["metadata"].get("labels", {}))]


class Pod(Sandbox):
    """A container of the engine."""

    def __init__(self, pod: dict[str, Any], emulator: KubernetesEmulator) -> None:
        super().__init__(pod)
        self.name = pod["metadata"]["name"]
        self.made_at = time.monotonic()
        self.reason = ""
        self.container = ""
        self.started = False
        self._starting = threading.Lock()
        replaced = []
        if emulator.python:
            script = self.home / "python3"
            script.write_text(emulator.python)
            script.chmod(0o755)
            replaced = ["--volume", f"{script}:/usr/bin/python3:ro"]
        image = emulator.images.get(pod["spec"]["containers"][0]["image"], "")
        self._options = ["--detach", "--network", emulator.network, *replaced, *options(pod, emulator.port, image)]
        self._pulled = image != ""

    def run(self) -> None:
        """Start its container, as a kubelet does when the API has the pod already."""
        with self._starting:
            if self._pulled and not self.dead:
                self.container = docker("run", *self._options)
            self.started = True

    def start(self, arguments: list[str], **others: Any) -> Program:
        # The engine would make a working directory itself, which is then root's.
        inside = ["exec", "--workdir", self.request["spec"]["containers"][0]["workingDir"]]
        inside += ["--interactive"] if others["stdin"] else []
        return super().start(["docker", f"--host=unix://{ENGINE}", *inside, self.container, *arguments], **others)

    def kill(self) -> None:
        self.dead = True
        with self._starting:
            if self.container:
                with contextlib.suppress(subprocess.CalledProcessError):  # another thread ended it
                    docker("rm", "--force", self.container)
        for program in list(self.programs.values()):
            program.exit.wait(10)

    def left(self) -> list[int]:
        """Its processes, as this machine numbers them."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if self.container and entry.name.isdigit() and self.container in (entry / "cgroup").read_text():
                    found.append(int(entry.name))
        return found


@functools.cache
def _rules(path: Path) -> list[dict[str, Any]]:
    """The rules of all roles in a file."""
    documents = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return [rule for each in documents if each["kind"] == "Role" for rule in each["rules"]]


def docker(*words: str) -> str:
    done = subprocess.run(["docker", f"--host=unix://{ENGINE}", *words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, words[0], done.stdout, done.stderr)
    return done.stdout.strip()


def options(pod: dict[str, Any], port: int, image: str) -> list[str]:
    """What a kubelet and its runtime make of a pod's first container, as the engine's words; `port` is the API's."""
    container, *_ = pod["spec"]["containers"]
    own = pod["spec"].get("securityContext", {}) | container.get("securityContext", {})
    given = ["--user", f"{own['runAsUser']}:{own['runAsGroup']}"] if "runAsUser" in own else []
    given += ["--read-only"] if own.get("readOnlyRootFilesystem") else []
    given += ["--security-opt", "no-new-privileges"] if own.get("allowPrivilegeEscalation") is False else []
    if own.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        given += ["--security-opt", "seccomp=unconfined"]
    for capability in own.get("capabilities", {}).get("drop", []):
        given += ["--cap-drop", capability]
    limits = container.get("resources", {}).get("limits", {})
    if "memory" in limits:
        memory = limits["memory"].removesuffix("i").lower()
        given += ["--memory", memory, "--memory-swap", memory]
    if "cpu" in limits:
        given += ["--cpus", str(int(limits["cpu"][:-1]) / 1000) if limits["cpu"].endswith("m") else limits["cpu"]]
    volumes = {each["name"]: each for each in pod["spec"].get("volumes", [])}
    for mount in container.get("volumeMounts", []):
        size = volumes[mount["name"]]["emptyDir"]["sizeLimit"].removesuffix("i").lower()
        given += ["--tmpfs", f"{mount['mountPath']}:rw,exec,size={size},mode=1777"]
    environment = [f"--env={each['name']}={each['value']}" for each in container.get("env", [])]
    environment += [f"--env=KUBERNETES_SERVICE_{name}" for name in ("HOST=127.0.0.1", f"PORT={port}")]  # in every container
    command = container["command"]
    given += ["--log-driver", "none", "--entrypoint", command[0]]
    return [*environment, *given, image, *command[1:], *container.get("args", [])]


def pruned(pod: dict[str, Any]) -> dict[str, Any]:
    """A pod as the API keeps it: without what it does not know, and without what is empty or false."""
    from kubernetes.client import ApiClient, V1Pod

    return compact(ApiClient().sanitize_for_serialization(V1Pod.from_dict(pod)))


def compact(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: compact(each) for name, each in value.items()}
        pointers = {"allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks", "privileged", "terminationGracePeriodSeconds"}
        return {name: each for name, each in kept.items() if name in pointers or each not in (False, None, [], {}, "", 0)}
    return [compact(each) for each in value] if isinstance(value, list) else value


def invalid(pod: dict[str, Any]) -> str:
    """What validation says of a pod; "" where it is valid."""
    for name, value in pod["metadata"].get("labels", {}).items():
        if not _LABEL.fullmatch(value):
            return f"metadata.labels: Invalid value: {name}={value!r}: a valid label must be an empty string or ..."
    spec = pod["spec"]
    if spec.get("dnsPolicy") == "None" and not spec.get("dnsConfig", {}).get("nameservers"):
        return "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"
    if spec.get("activeDeadlineSeconds", 1) < 1:
        return "spec.activeDeadlineSeconds: Invalid value: must be greater than 0"
    mounted = {mount["name"] for each in spec["containers"] for mount in each.get("volumeMounts", [])}
    if missing := mounted - {each["name"] for each in spec.get("volumes", [])}:
        return f"spec.containers[0].volumeMounts[0].name: Not found: {sorted(missing)}"
    return ""


def unrestricted(pod: dict[str, Any]) -> str:
    """What Pod Security's profile `restricted` does not allow; "" where all of it is allowed."""
    spec = pod["spec"]
    wrong = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    for each in [*spec["containers"], *spec.get("initContainers", [])]:
        own = spec.get("securityContext", {}) | each.get("securityContext", {})
        wrong += [] if own.get("allowPrivilegeEscalation") is False else ["allowPrivilegeEscalation != false"]
        wrong += [] if own.get("capabilities", {}).get("drop") == ["ALL"] else ["unrestricted capabilities"]
        wrong += [] if own.get("runAsNonRoot") else ["runAsNonRoot != true"]
        wrong += [] if own.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost") else ["seccompProfile"]
        wrong += ["privileged"] if own.get("privileged") else []
    kinds = {next(iter(set(each) - {"name"})) for each in spec.get("volumes", [])}
    wrong += sorted(kinds - {"configMap", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"})
    return ", ".join(wrong)


def selects(request: Request, labels: dict[str, str]) -> bool:
    wanted = dict(each.split("=", 1) for each in request.query.get("labelSelector", "").split(",") if each)
    return wanted.items() <= labels.items()
