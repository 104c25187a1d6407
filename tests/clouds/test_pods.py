"""What is Kubernetes' own: what its user may do, what a cluster makes of a pod, its streams, its kubeconfigs, its claims."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
import yaml

from rlm_secure import RLM
from rlm_secure.broker.client import CHUNK
from rlm_secure.environments.cloud import cluster, kubernetes
from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.environments.cloud.provider import LABEL
from rlm_secure.environments.owner import owner
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellCrashed, EnforcementError, EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import load_policy
from rlm_secure.policy.model import MIB
from rlm_secure.resources import sandboxes_dir
from rlm_secure.sandbox import Sandbox
from tests.clouds.conftest import Cloud, limits, provided
from tests.emulators.base import until
from tests.emulators.kubernetes import IMAGE, docker, unrestricted

pytestmark = pytest.mark.docker
TLS = Path(__file__).parents[1] / "broker" / "tls"
FILES = sandboxes_dir() / "kubernetes"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with provided("kubernetes") as made:
        yield made


def no_calls(call: object) -> None:
    return None


def refused(cloud: Cloud, match: str, **options: Any) -> str:
    """What a session is refused with."""
    with pytest.raises(EnvironmentUnavailable, match=match) as raised:
        cloud.environment(**options).session(limits())
    return str(raised.value)


# -- what is shipped -------------------------------------------------------------------------------------


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FILES / name).read_text(encoding="utf-8")))


def test_the_namespace_denies_every_network_and_every_other_pod() -> None:
    (namespace,), (network,) = documents("namespace.yaml"), documents("network-policy.yaml")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    denied = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [], "egress": []}
    assert network["spec"] == denied
    for folder in (FILES, FILES / "agent-sandbox"):
        (listed,) = documents(str(folder.relative_to(FILES) / "kustomization.yaml"))
        shipped = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert {each for each in listed["resources"] if each != ".."} == shipped
        assert listed["namespace"] == namespace["metadata"]["name"]


@pytest.mark.parametrize("verb", [("pods", "create"), ("pods", "get"), ("pods/exec", "get"), ("pods/exec", "create")])
@pytest.mark.usefixtures("quick")
def test_each_right_of_the_role_is_needed_and_its_lack_is_said(cloud: Cloud, verb: tuple[str, str]) -> None:
    cloud.emulator.without = verb
    refused(cloud, f'403 Forbidden: {verb[0]} is forbidden.* cannot {verb[1]} resource' if verb[0] == "pods" else "403 exec was refused")
    assert len(cloud.emulator.made) == (verb[1] != "create" or verb[0] != "pods")


def test_a_sweep_lists_and_deletes_and_needs_no_image(cloud: Cloud) -> None:
    environment = create_environment("kubernetes", kubeconfig=cloud.emulator.kubeconfig)
    assert environment.sweep() == 0
    cloud.emulator.without = ("pods", "list")
    with pytest.raises(EnvironmentUnavailable, match="could not be swept: .*cannot list resource"):
        environment.sweep()
    with pytest.raises(EnvironmentUnavailable, match="no image of its own: pass image"):
        environment.open(limits())


def test_the_longest_label_of_an_owner_fits() -> None:
    realm, _, _ = owner().split("-")
    assert len(f"{realm}-{10**10 - 1}-{2**63}") <= 63 and len(LABEL) <= 63


# -- what a pod is ---------------------------------------------------------------------------------------


def test_a_user_writes_its_name_alone(cloud: Cloud) -> None:
    with Sandbox("strict", "k" * 1000, environment="kubernetes", environment_kwargs=cloud.options) as sandbox:
        assert sandbox.run("print(len(context))").stdout == "1000\n"
        report = sandbox.report
    assert report[Wall.CONTAINER].level is Level.FULL and "root read-only: yes" in report[Wall.CONTAINER].evidence
    assert report[Wall.PROVIDER_VM].level is Level.NONE and "no runtime class" in report[Wall.PROVIDER_VM].evidence
    assert report[Wall.SEPARATE_UID].evidence.startswith("not separated: supervisor and worker are both uid 65532")
    assert report[Wall.CGROUP].level is Level.FULL
    assert RLM(environment="kubernetes", environment_kwargs=cloud.options, backend="openai", backend_kwargs={"model_name": "m", "api_key": "k"})


def test_a_runtime_class_is_asked_for_and_its_kernel_is_the_clusters_word(cloud: Cloud) -> None:
    with cloud.environment(runtime_class="gvisor").session(limits()) as session:
        (made,) = cloud.emulator.recorded(cloud.wire.create)
        assert made.json["spec"]["runtimeClassName"] == "gvisor"
        said = session.report[Wall.PROVIDER_VM]
    assert said.level is Level.VENDOR and said.evidence.startswith("runtime class gvisor")


def test_a_pod_that_is_not_hardened_gets_no_session(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "_differing", lambda *_: iter(()))  # an API that answers what it does not do
    monkeypatch.setattr("tests.emulators.kubernetes.unrestricted", lambda pod: "")

    def writable(pod: dict[str, Any]) -> dict[str, Any]:
        for each in (pod["spec"]["containers"][0]["securityContext"],):
            each.pop("readOnlyRootFilesystem")
            each.pop("capabilities")
            each["allowPrivilegeEscalation"] = True
        return pod

    cloud.emulator.changed = writable
    with pytest.raises(EnforcementError, match="container.*no_new_privs: NO") as raised:
        cloud.session()
    assert raised.value.missing == ("container",)


def sidecar(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"].append({"name": "proxy", "image": "mesh"})


def token(pod: dict[str, Any]) -> None:
    pod["spec"]["volumes"].append({"name": "token", "projected": {}})


def variable(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["env"] = [{"name": "AWS_ROLE_ARN", "value": "arn"}]


def init(pod: dict[str, Any]) -> None:
    pod["spec"]["initContainers"] = [{"name": "mesh-init", "image": "mesh"}]


def host(pod: dict[str, Any]) -> None:
    pod["spec"]["hostNetwork"] = True


def capability(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = ["NET_ADMIN"]


def escalation(pod: dict[str, Any]) -> None:
    del pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"]


def image(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["image"] = "mirror.example/python:latest"


def added(place: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    """A webhook that adds to a pod's own fields, to its container's, or to a security context."""

    def change(pod: dict[str, Any]) -> None:
        container = pod["spec"]["containers"][0]
        places = {"pod": pod["spec"], "container": container, "resources": container["resources"]["limits"]}
        places |= {"of the pod": pod["spec"]["securityContext"], "of the container": container["securityContext"]}
        places[place].update(values)

    return change


PROGRAM = {"exec": {"command": ["/bin/sh", "-c", "true"]}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (added("container", lifecycle={"postStart": PROGRAM}), r"containers\[0\].lifecycle"),
        (added("container", livenessProbe=PROGRAM), r"containers\[0\].livenessProbe"),
        (added("container", args=["-x"]), r"containers\[0\].args"),
        (added("container", volumeDevices=[{"name": "disk", "devicePath": "/dev/sda"}]), r"containers\[0\].volumeDevices"),
        (added("resources", **{"example.com/kvm": "1"}), r"containers\[0\].resources"),
        (added("pod", resourceClaims=[{"name": "gpu"}]), "resourceClaims"),
        (added("of the pod", sysctls=[{"name": "kernel.shm_rmid_forced", "value": "0"}]), "securityContext.sysctls"),
        (added("of the pod", appArmorProfile={"type": "Unconfined"}), "securityContext.appArmorProfile"),
        (added("of the container", procMount="Unmasked"), r"containers\[0\].securityContext.procMount"),
        (added("of the container", seLinuxOptions={"type": "spc_t"}), r"containers\[0\].securityContext.seLinuxOptions"),
        (sidecar, "containers"),
        (token, "volumes"),
        (variable, r"containers\[0\].env"),
        (init, "initContainers"),
        (host, "hostNetwork"),
        (capability, r"containers\[0\].securityContext.capabilities.add"),
        (escalation, r"containers\[0\].securityContext.allowPrivilegeEscalation"),
        (image, r"containers\[0\].image"),
    ],
)
def test_what_an_admission_webhook_changes_is_seen_before_anything_runs(
    cloud: Cloud, change: Callable[[dict[str, Any]], None], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.emulators.kubernetes.Pod.start", lambda *_, **__: pytest.fail("something ran"))
    monkeypatch.setattr("tests.emulators.kubernetes.docker", lambda *_: "")

    def changed(pod: dict[str, Any]) -> dict[str, Any]:
        change(pod)
        return pod

    cloud.emulator.changed = changed
    refused(cloud, rf"the pod is not what was asked for \({field}\): look at the cluster's admission webhooks")
    assert len(cloud.emulator.made) == 1


def test_what_clusters_add_for_themselves_changes_nothing(cloud: Cloud) -> None:
    def changed(pod: dict[str, Any]) -> dict[str, Any]:
        added("pod", nodeName="n", schedulerName="s", serviceAccountName="default", priority=0, tolerations=[{"key": "k"}])(pod)
        added("container", terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")(pod)
        added("of the pod", seLinuxOptions={"level": "s0:c26,c5"}, fsGroup=1000)(pod)
        added("of the container", procMount="Default", appArmorProfile={"type": "RuntimeDefault"})(pod)
        return pod

    cloud.emulator.changed = changed
    with cloud.session() as session:
        assert session.alive


def test_a_pod_whose_network_is_open_is_found_out_from_inside(cloud: Cloud) -> None:
    cloud.emulator.network = "host"  # as without a plugin that enforces the policy
    with pytest.raises(EnforcementError, match=f"tried from inside: .*127.0.0.1:{cloud.emulator.port}: won") as raised:
        cloud.session(load_policy("strict"))
    assert raised.value.missing == ("provider-network-block",)


def test_the_first_process_ends_a_pod_in_which_nothing_runs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "_FIRST_PROCESS", kubernetes._FIRST_PROCESS.replace("sleep 30", "sleep 0.2"))
    monkeypatch.setattr(_lease, "UNRENEWED_SECONDS", 3)
    with cloud.session() as session:
        (box,) = cloud.emulator.live
        time.sleep(2.5)
        assert session.execute("print(1)", no_calls).stdout == "1\n", "what serves a session keeps its pod"
        assert box.left() and until(lambda: not box.left(), 20.0), box.commands()


def test_the_end_of_its_time_is_told(cloud: Cloud) -> None:
    with cloud.session() as session:
        cloud.emulator.live[0].ends_at = time.monotonic()
        cloud.emulator.route(cloud.emulator.requests[0])  # the kubelet looks
        result = session.execute("print(1)", no_calls)
        assert isinstance(result.error, CellCrashed)
        assert "kubernetes has ended it (its time to live is 3600 s)" in str(result.error)
    assert cloud.emulator.live == []


def test_what_a_pod_waits_for_is_said(cloud: Cloud) -> None:
    cloud.emulator.waiting = {"reason": "ContainerCreating", "message": "waiting for a node"}
    refused(cloud, "gave no sandbox: TimeoutError: the pod does not run: ContainerCreating: waiting for a node", create_seconds=4.0)


@pytest.mark.usefixtures("quick")
def test_a_full_quota_is_waited_for(cloud: Cloud) -> None:
    first = cloud.session()
    cloud.emulator.quota = 1
    with pytest.raises(EnvironmentUnavailable, match="exceeded quota"):
        cloud.environment(create_seconds=0.5).session(limits(start_seconds=0.5))
    threading.Timer(0.5, first.close).start()
    with cloud.session() as session:
        assert session.alive


def test_the_files_of_a_context_fit_and_one_that_does_not_leaves_nothing(cloud: Cloud) -> None:
    with cloud.session() as session:
        lease, (box,) = session._lease, cloud.emulator.live

        def put(name: str, size: int) -> None:
            lease._loop.call(lease._provider.put(f"files/{name}", bytes(size)), 60)

        names = [f"file{number}" for number in range(kubernetes.KubernetesProvider.files)]
        for name in names:
            put(name, CHUNK)
        with pytest.raises((kubernetes.KubernetesError, ConnectionError)):
            put("full", 40 * MIB)
        listed = ["exec", box.container, "ls", "-A", "/rlm-secure/files"]
        assert until(lambda: docker(*listed).split() == names, 20.0), docker(*listed)


# -- its streams -----------------------------------------------------------------------------------------


def test_a_cluster_with_the_fourth_version_of_exec_does_the_same(cloud: Cloud) -> None:
    cloud.emulator.protocols = ("v4.channel.k8s.io",)
    with cloud.session(tools={"tick": ""}) as session:
        assert session.execute("tick()\nprint('x' * 100_000)", no_calls).stdout == "x" * 100_000 + "\n"


def test_a_cluster_with_neither_version_is_refused(cloud: Cloud) -> None:
    cloud.emulator.protocols = ("channel.k8s.io",)
    refused(cloud, "400 exec was refused")


def test_a_session_outlives_the_streams_that_an_api_server_ends(cloud: Cloud) -> None:
    with cloud.session() as session:
        session.execute("x = 1", no_calls)
        (box,) = cloud.emulator.live
        for program in list(box.programs.values()):
            program.close_stdin()  # as a runtime does for a client that is gone
        session._lease._supervisor.close()
        for number in range(3):
            assert session.execute(f"print(x + {number})", no_calls).stdout == f"{1 + number}\n"


def test_a_half_written_line_is_the_end_of_its_stream(cloud: Cloud) -> None:
    with cloud.session() as session:
        sent = len(cloud.emulator.recorded(cloud.wire.run))
        cloud.emulator.fail(cloud.wire.write, status=500)
        assert session.execute("print(1)", no_calls).stdout == "1\n"
        assert len(cloud.emulator.recorded(cloud.wire.run)) == sent + 1, "on another one"


# -- its kubeconfigs -------------------------------------------------------------------------------------


def test_a_cluster_whose_certificate_is_not_verified_gets_no_token(cloud: Cloud) -> None:
    for settings in ({"insecure-skip-tls-verify": True}, {"server": "http://cluster.example"}):
        path = cloud.emulator.write_kubeconfig("t0ken", **settings)
        assert "t0ken" not in refused(cloud, "certificate is not verified", kubeconfig=path)
    assert cloud.emulator.requests == []


def test_no_password_of_a_netrc_is_sent(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("default login somebody password of-another-service\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert cloud.environment().sweep() == 0
    (asked,) = cloud.emulator.requests
    assert asked.headers["authorization"] == f"Bearer {cloud.emulator.key}"


def test_a_proxy_of_the_kubeconfig_or_of_the_environment_is_asked(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://somebody:proxy-password@127.0.0.1:{cloud.emulator.port}"
    path = cloud.emulator.write_kubeconfig("t0ken", server="https://cluster.example", **{"proxy-url": proxy})
    assert "proxy-password" not in refused(cloud, "could not|Cannot|gave no sandbox", kubeconfig=path)
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert "proxy-password" not in refused(cloud, "gave no sandbox", kubeconfig=cloud.emulator.write_kubeconfig("t0ken", server="https://cluster.example"))
    asked = [each.method for each in cloud.emulator.requests]
    assert asked and set(asked) == {"CONNECT"}, "and the token is in none of it"
    assert not any("t0ken" in str(each.headers) for each in cloud.emulator.requests)


def test_a_kubeconfig_without_credentials_says_so(cloud: Cloud) -> None:
    path = cloud.emulator.write_kubeconfig("", server="https://cluster.example")
    refused(cloud, "no token and no certificate", kubeconfig=path)
    refused(cloud, "Expected object with name elsewhere", context="elsewhere")


def test_the_token_follows_no_redirect(cloud: Cloud) -> None:
    with provided("kubernetes") as other:
        headers = {"Location": f"{other.emulator.url}/api/v1/namespaces/rlm-secure/pods"}
        cloud.emulator.fail("POST .*/pods$", status=307, headers=headers, times=9)
        refused(cloud, "the cluster redirects a request")
        assert other.emulator.requests == []


def test_the_token_is_in_nothing_that_is_said(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    cloud.emulator.fail("POST .*/pods$", status=403, message=f"no: Bearer {cloud.emulator.key} of yours")
    said = refused(cloud, r"403 Forbidden: no: Bearer \*\*\* of yours")
    assert cloud.emulator.key not in said + caplog.text


def test_a_pod_is_made_once_where_the_api_cannot_be_reached_for_a_moment(cloud: Cloud) -> None:
    """It is asked for until it runs; otherwise each connection that breaks would cost a pod."""
    reset = cloud.emulator.fail("GET .*/pods/[^/]+$", reset=True, times=4)
    with cloud.session() as session:
        assert session.execute("print(1)", no_calls).stdout == "1\n"
    assert reset.seen == 4
    assert len(cloud.emulator.recorded("POST .*/pods$")) == 1


def test_credentials_that_change_are_read_again(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes.KubernetesProvider, "renew_every", 0.1)
    monkeypatch.setattr(cluster, "_CREDENTIALS_SECONDS", 0.0)
    with cloud.session() as session:
        path = cloud.emulator.write_kubeconfig("the-next-token")
        with open(path) as new, open(cloud.emulator.kubeconfig, "w") as file:
            file.write(new.read())
        time.sleep(0.5)
        cloud.emulator.key = "the-next-token"
        cloud.emulator.fail(cloud.wire.write, status=500)  # so that it dials again
        assert session.execute("print(1)", no_calls).stdout == "1\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image": "python:3.12"}, "named by its digest"),
        ({"image": IMAGE, "warm_pool": "pool"}, "not both"),
        ({"namespace": "../kube-system"}, "namespace is the name of an object"),
        ({"runtime_class": "a b"}, "runtime_class is the name of an object"),
        ({"in_cluster": True, "context": "x"}, "have no part in it"),
        ({"transport": "ingress"}, "use 'exec'"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        create_environment("kubernetes", **options)


def test_in_a_cluster_the_service_account_is_the_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(EnvironmentUnavailable, match="ConfigException: Service host/port is not set"):
        create_environment("kubernetes", image=IMAGE, in_cluster=True).open(limits())


@pytest.mark.parametrize(("known", "name"), [(True, "127.0.0.1"), (False, "127.0.0.1"), (True, "localhost")])
def test_in_a_cluster_its_certificate_and_the_service_accounts_token_are_used(
    cloud: Cloud, known: bool, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.aio.config import incluster_config

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
    cloud.emulator.server.socket = context.wrap_socket(cloud.emulator.server.socket, server_side=True)
    (tmp_path / "token").write_text(cloud.emulator.key)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    trusted = TLS / "certificate.pem" if known else Path(certifi.where())
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(trusted))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", name)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(cloud.emulator.port))
    environment = create_environment("kubernetes", image=IMAGE, in_cluster=True)
    if not known or name == "localhost":  # of which the certificate does not speak
        with pytest.raises(EnvironmentUnavailable, match="gave no sandbox: ClientConnectorCertificateError"):
            environment.session(limits())
        assert cloud.emulator.requests == []
        return
    with environment.session(limits()) as session:
        assert session.execute("print('x' * 100_000)", no_calls).stdout == "x" * 100_000 + "\n"


# -- claims of agent-sandbox -----------------------------------------------------------------------------


@pytest.fixture
def pool(cloud: Cloud) -> Iterator[Cloud]:
    """A warm pool of two, and the roles of its users; what nobody claimed is left in it."""
    cloud.emulator.roles = "agent-sandbox/rbac.yaml"
    yield cloud
    for box in cloud.emulator.live:
        cloud.emulator.vanish(box.name)


def test_a_claim_takes_a_pod_that_runs_already(pool: Cloud) -> None:
    warm = pool.emulator.warm(2)
    options = {"kubeconfig": pool.emulator.kubeconfig, "warm_pool": "rlm-secure"}
    with create_environment("kubernetes", **options).session(limits()) as session:
        assert session.execute("print(1)", no_calls).stdout == "1\n"
        assert session.report.details["pod"] in {box.name for box in warm}
        assert session.report[Wall.CONTAINER].level is Level.FULL
        (made,) = pool.emulator.recorded("POST .*/sandboxclaims$")
        claim = made.json
        assert set(claim["spec"]) == {"warmPoolRef", "lifecycle"}, "`env` would start another pod"
        assert claim["spec"]["lifecycle"]["shutdownPolicy"] == "Delete"
        assert claim["metadata"]["labels"]["rlm-secure-owner"] == owner()
        assert create_environment("kubernetes", **options).sweep() == 0
        claim["metadata"]["labels"]["rlm-secure-owner"] = f"{owner().rpartition('-')[0]}-1"
        pool.emulator.claims["of-the-dead"] = claim | {"metadata": claim["metadata"] | {"name": "of-the-dead"}}
        pool.emulator.claims["of-the-dead"]["status"] = {"sandbox": {"name": ""}}
        assert create_environment("kubernetes", **options).sweep() == 1
    assert pool.emulator.claims == {} and len(pool.emulator.live) == 1


@pytest.mark.parametrize(("changed", "field"), [({"automountServiceAccountToken": True}, "automountServiceAccountToken"), ({"dnsPolicy": "ClusterFirst"}, "dnsPolicy")])
def test_a_template_that_is_not_hardened_is_refused(pool: Cloud, changed: dict[str, Any], field: str) -> None:
    pool.emulator.warm(1, **changed)
    with pytest.raises(EnvironmentUnavailable, match=rf"not what was asked for \({field}\).*the pool's template"):
        create_environment("kubernetes", kubeconfig=pool.emulator.kubeconfig, warm_pool="rlm-secure").session(limits())
    assert pool.emulator.claims == {}


def test_an_empty_pool_is_said(pool: Cloud) -> None:
    with pytest.raises(EnvironmentUnavailable, match="the claim got no pod: WarmPoolNotFound: no pod is warm"):
        create_environment("kubernetes", kubeconfig=pool.emulator.kubeconfig, warm_pool="rlm-secure").session(limits())
    assert pool.emulator.claims == {}


def test_the_claim_is_what_the_client_of_agent_sandbox_sends(pool: Cloud) -> None:
    from k8s_agent_sandbox import SandboxClient
    from kubernetes.client import ApiClient, Configuration

    pool.emulator.warm(2)
    pool.emulator.also = [{"apiGroups": ["extensions.agents.x-k8s.io"], "resources": ["sandboxclaims"], "verbs": ["watch"]}]
    with create_environment("kubernetes", kubeconfig=pool.emulator.kubeconfig, warm_pool="rlm-secure").session(limits()):
        configuration = Configuration(host=pool.emulator.url, api_key={"BearerToken": f"Bearer {pool.emulator.key}"})
        client = SandboxClient(api_client=ApiClient(configuration))
        theirs = client.create_sandbox("rlm-secure", "rlm-secure", labels={"rlm-secure": "1"}, shutdown_after_seconds=3600)
        assert theirs.get_pod_name().startswith("rlm-secure-pool-")
        client.delete_sandbox(theirs.claim_name, "rlm-secure")
        ours, real = (each.json for each in pool.emulator.recorded("POST .*/sandboxclaims$"))
    assert {each: ours[each] for each in ("apiVersion", "kind")} == {each: real[each] for each in ("apiVersion", "kind")}
    assert ours["spec"].keys() == real["spec"].keys() and ours["spec"]["warmPoolRef"] == real["spec"]["warmPoolRef"]
    assert ours["spec"]["lifecycle"].keys() == real["spec"]["lifecycle"].keys()
    assert len(ours["spec"]["lifecycle"]["shutdownTime"]) == len(real["spec"]["lifecycle"]["shutdownTime"])


def test_the_shipped_template_is_within_the_profile() -> None:
    template = next(each for each in documents("agent-sandbox/template.yaml") if each["kind"] == "SandboxTemplate")
    assert unrestricted(template["spec"]["podTemplate"]) == ""
    assert template["spec"]["networkPolicyManagement"] == "Unmanaged", "the controller's own policy allows the internet"
