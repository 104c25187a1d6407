"""What another distribution adds: an environment, a client and a rule, by entry points and by no change of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rlm_secure import registry
from rlm_secure.audit import audit, rules
from rlm_secure.audit.finding import Location
from rlm_secure.cli import main
from rlm_secure.clients import BACKENDS, get_client
from rlm_secure.environments import get_environment
from rlm_secure.environments.registry import get_environment_class
from rlm_secure.errors import EnforcementError, PolicyError, Refused
from rlm_secure.guarantees import Guarantee, Wall
from rlm_secure.policy import load_policy, page
from rlm_secure.policy.compare import effect
from rlm_secure.registry import ENVIRONMENTS, REMOTE_WALLS, EnvironmentType
from rlm_secure.resources import policies_dir
from rlm_secure.sandbox import Sandbox
from rlm_secure.types import ClientBackend

MODULE = '''
import dataclasses

from rlm_secure.audit.finding import Location, Severity
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.clients.base import BaseLM
from rlm_secure.clients.scripted import ScriptedClient
from rlm_secure.environments.local import LocalEnvironment
from rlm_secure.guarantees import Guarantee, Wall


class Scratch(LocalEnvironment):
    """Sessions of this machine, under another name."""

    name = "scratch"


class Demanding(LocalEnvironment):
    """One that says of itself what it does not have."""

    name = "demanding"
    required_walls = (Wall.PROVIDER_VM,)


class Misnamed(LocalEnvironment):
    """One with the name of another."""


class Echo(ScriptedClient):
    """A client that says the same."""

    def __init__(self, model_name="echo"):
        super().__init__(replies=["hello"], model_name=model_name)


class ShortDescription(Rule):
    """A policy does not say what it is for.

    Nobody remembers.
    """

    id = "short-description"
    kind = Kind.POLICY
    severity = Severity.LOW
    hint = "write a description"

    def check(self, subject):
        if not subject.policy.description:
            yield self.finding(Location(subject.file), "it has no description", about="description")


class Kindless(ShortDescription):
    """A rule that would never run."""

    id = "kindless"
    kind = "policy"


class Checkless(Rule):
    """A rule without a check."""

    id = "checkless"
    kind = Kind.POLICY
    hint = "write one"


class Pageless(ShortDescription):
    id = "pageless"


class Hintless(ShortDescription):
    """A rule that does not say what to do."""

    id = "hintless"
    hint = ""


class Faulty(ShortDescription):
    """A rule with a mistake of its own."""

    id = "faulty"

    def check(self, subject):
        yield {}["missing"]


class Loud(ShortDescription):
    """A rule whose severity is a word."""

    id = "loud"
    severity = "high"


class Sure(ShortDescription):
    """A rule whose confidence is a word."""

    id = "sure"
    confidence = "high"


class Weakening(ShortDescription):
    """A rule that weakens what is no guarantee."""

    id = "weakening"
    weakens = ("no-secrets",)


class Weakenings(ShortDescription):
    """A rule with a list that could change."""

    id = "weakenings"
    weakens = [Guarantee.NO_SECRETS]


class Careless(ShortDescription):
    """A rule whose findings are none."""

    id = "careless"
    wrong = {}

    def check(self, subject):
        good = self.finding(Location(subject.file), "it is here")
        yield good
        yield "it is here" if "all" in self.wrong else dataclasses.replace(good, **self.wrong)
'''
ENTRIES = """
[rlm_secure.environments]
scratch = scratch_package:Scratch
demanding = scratch_package:Demanding
misnamed = scratch_package:Misnamed
absent = scratch_package.absent:Absent
notone = scratch_package:Echo

[rlm_secure.clients]
echo = scratch_package:Echo
broken-client = scratch_package:Nothing

[rlm_secure.rules]
short-description = scratch_package:ShortDescription
wrong-id = scratch_package:ShortDescription
kindless = scratch_package:Kindless
checkless = scratch_package:Checkless
pageless = scratch_package:Pageless
hintless = scratch_package:Hintless
faulty = scratch_package:Faulty
loud = scratch_package:Loud
sure = scratch_package:Sure
weakening = scratch_package:Weakening
weakenings = scratch_package:Weakenings
careless = scratch_package:Careless
"""
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Has a distribution on sys.path, as pip would have installed it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(rules, "_loaded", {})

    def installed(entries: str = ENTRIES, name: str = "scratch") -> Path:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entries)
        (tmp_path / "scratch_package.py").write_text(MODULE)
        return tmp_path

    yield installed
    sys.modules.pop("scratch_package", None)


def allowing(name: str, **isolation: object) -> dict[str, object]:
    return {"isolation": {"environments": [name], **isolation}}


# -- environments -------------------------------------------------------------------------------------


def test_the_table_has_what_type_checkers_read() -> None:
    assert typing.get_args(EnvironmentType) == tuple(ENVIRONMENTS)
    assert set(typing.get_args(ClientBackend)) == set(BACKENDS)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_of_ours_has_the_name_of_its_entry(name: str) -> None:
    assert get_environment_class(name).name == name


def test_an_environment_of_another_distribution_opens_under_a_policy(install: Install) -> None:
    install()
    with Sandbox(allowing("scratch"), environment="scratch") as sandbox:
        assert sandbox.run("print(6 * 7)").stdout == "42\n"
    with get_environment("scratch", {"policy": allowing("scratch")}) as repl:
        assert repl.execute_code("print(1)").stdout == "1\n"


def test_its_sandboxes_are_swept_by_name(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install()
    assert main(["sandbox", "sweep", "scratch"]) == 0
    assert capsys.readouterr().out == "0\n"
    assert main(["sandbox", "sweep", "nowhere"]) == 2
    assert "unknown environment 'nowhere'" in capsys.readouterr().err


def test_a_policy_that_does_not_name_it_refuses_it(install: Install) -> None:
    install()
    with pytest.raises(Refused, match="does not allow the environment"):
        Sandbox(environment="scratch")
    assert "scratch" not in load_policy("strict").isolation.environments


def test_it_is_held_to_the_walls_that_it_declares_and_to_those_of_the_policy(install: Install) -> None:
    install()
    with pytest.raises(EnforcementError, match=r"demanding: .*; use another environment") as refused:
        Sandbox(allowing("demanding"), environment="demanding")
    assert refused.value.missing == ("provider-vm",)
    with pytest.raises(EnforcementError) as refused:  # a list of the policy's own takes none of them away
        Sandbox(allowing("demanding", others=[{"name": "demanding", "walls": []}]), environment="demanding")
    assert refused.value.missing == ("provider-vm",)
    with pytest.raises(EnforcementError) as refused:
        Sandbox(allowing("scratch", others=[{"name": "scratch", "walls": ["container"]}]), environment="scratch")
    assert refused.value.missing == ("container",)
    accepted = [{"wall": "provider-vm", "reason": "a test of what is accepted"}]
    with Sandbox(allowing("demanding", best_effort=accepted), environment="demanding") as sandbox:
        assert sandbox.run("print(1)").stdout == "1\n"


def test_an_environment_that_no_policy_names_has_the_walls_of_a_cloud() -> None:
    isolation = load_policy("strict").isolation
    assert isolation.required("anything") == REMOTE_WALLS
    assert isolation.required("anything", (Wall.CONTAINER,)) == (*REMOTE_WALLS, Wall.CONTAINER)
    assert isolation.requiring_nothing("local").required("local") == ()
    assert isolation.requiring_nothing("anything").required("anything") == ()


def test_a_policy_file_can_name_it_and_misspell_it(install: Install) -> None:
    with pytest.raises(PolicyError, match=r'is "scratch"; use one of local, docker, modal, daytona, prime, e2b, kubernetes'):
        load_policy(allowing("scratch"))
    install()
    assert load_policy(allowing("scratch")).isolation.environments == ("scratch",)
    with pytest.raises(PolicyError, match=r'is "scratchy"; did you mean "scratch"\?'):
        load_policy(allowing("scratchy"))
    with pytest.raises(PolicyError, match="has a key of its own, isolation.local"):
        load_policy({"isolation": {"others": [{"name": "local"}]}})
    with pytest.raises(PolicyError, match="isolation.others names the environment 'scratchy', which .* no distribution"):
        load_policy(allowing("scratch", others=[{"name": "scratchy", "walls": ["container"]}]))
    for name in ("scratch", "demanding"):  # allowed, or at least there
        load_policy(allowing("scratch", others=[{"name": name, "walls": ["container"]}]))
    with pytest.raises(PolicyError, match="twice"):
        load_policy({"isolation": {"others": [{"name": "scratch"}, {"name": "scratch"}]}})


def test_the_shipped_schema_names_ours_alone_and_the_printed_one_what_is_installed(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    page.main(str(tmp_path))
    written = json.loads((tmp_path / "policy.schema.json").read_text())
    assert written == json.loads((policies_dir() / "policy.schema.json").read_text())
    assert main(["policy", "schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    names = printed["$defs"]["Isolation"]["properties"]["environments"]["items"].pop("enum")
    assert names == [*ENVIRONMENTS, "absent", "demanding", "misnamed", "notone", "scratch"]
    assert written["$defs"]["Isolation"]["properties"]["environments"]["items"].pop("enum") == [*ENVIRONMENTS]
    assert printed == written


def test_a_policy_is_refused_in_a_sentence_where_distributions_disagree(install: Install) -> None:
    install("[rlm_secure.environments]\nlocal = scratch_package:Misnamed\n")
    with pytest.raises(PolicyError, match=r'is "scratchy", and nobody can say .* scratch 1.0 offers .*\'local\''):
        load_policy(allowing("scratchy"))
    with pytest.raises(PolicyError, match="isolation.environments names 'local' twice; name it once"):
        load_policy({"isolation": {"environments": ["local", "local"]}})


def test_extends_may_only_add_walls_of_others() -> None:
    other = [{"name": "scratch", "walls": ["seccomp"]}]
    base, looser = load_policy({}), load_policy({"isolation": {"others": other}})
    tighter = load_policy({"isolation": {"others": [{"name": "scratch", "walls": [*REMOTE_WALLS, "container"]}]}})
    key = "isolation.others"
    assert effect(key, base.isolation.others, looser.isolation.others) == "weaker"
    assert effect(key, base.isolation.others, tighter.isolation.others) == "stronger"
    assert effect(key, looser.isolation.others, ()) == "stronger"
    with pytest.raises(PolicyError, match='leaves out "language of scratch"'):
        load_policy({"extends": "strict", "isolation": {"others": other}})


def test_doctor_names_whose_it_is_and_tries_it_only_when_asked(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    main(["doctor"])
    out = capsys.readouterr().out
    assert "scratch: not tried, since it is of scratch 1.0; ask with --environment scratch" in out
    assert "scratch_package" not in sys.modules
    assert main(["doctor", "--environment", "scratch"]) == 0
    assert "scratch: every wall that strict requires holds" in capsys.readouterr().out
    assert main(["doctor", "--environment", "demanding"]) == 1
    assert "demanding: missing and required by strict: provider-vm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absent", "the environment 'absent' of scratch 1.0 cannot be loaded: ModuleNotFoundError: No module named"),
        ("notone", "cannot be used: scratch_package:Echo is no subclass of rlm_secure.environments.interface.Environ"),
        ("misnamed", "the environment 'misnamed' of scratch 1.0 cannot be used: the attribute `name` of its class is 'l"),
    ],
)
def test_one_that_cannot_be_used_is_one_sentence(
    install: Install, name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    assert main(["exec", "--environment", name, "-c", "1"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert sentence in err and err.startswith("rlm-secure exec: error: ")


# -- clients ------------------------------------------------------------------------------------------


def test_a_client_of_another_distribution_is_found_by_its_name(install: Install) -> None:
    install()
    assert get_client("echo", {"model_name": "parrot"}).completion("hi") == "hello"
    with pytest.raises(ValueError, match="the client 'broken-client' of scratch 1.0 cannot be loaded: AttributeError"):
        get_client("broken-client")
    with pytest.raises(ValueError, match=r"^Unknown backend: ech\. Supported backends: openai, .*scripted, echo"):
        get_client("ech")


# -- rules --------------------------------------------------------------------------------------------


def test_a_rule_of_another_distribution_is_listed_explained_and_used_when_asked(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    assert main(["audit", "--list-rules"]) == 0
    assert "short-description            of scratch 1.0; use it with --rule short-description" in capsys.readouterr().out
    assert main(["audit", "--list-rules", "--format", "json"]) == 0
    assert '"from": "scratch 1.0"' in capsys.readouterr().out
    assert "scratch_package" not in sys.modules
    policy = tmp_path / "policy.toml"
    policy.write_text('extends = "strict"\n')
    assert main(["audit", str(policy)]) == 0
    assert "short-description" not in capsys.readouterr().out
    for form in ("text", "json", "sarif", "html", "junit", "github"):
        asked = ["audit", str(policy), "--rule", "short-description", "--fail-on", "low", "--format", form]
        assert main(asked) == 1
        said = capsys.readouterr().out
        assert "short-description" in said
        assert "blob/main/scratch_package" not in said, "its source is not in this repository"
    assert main(["explain", "short-description"]) == 0
    assert "# short-description" in capsys.readouterr().out
    assert main(["explain", "short-description", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == "scratch_package"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", "no installed distribution has a rule 'nothing'; rlm-secure audit --list-rules shows all"),
        ("wrong-id", "the rule 'wrong-id' of scratch 1.0 cannot be used: the attribute `id` of its class is 'short-de"),
        ("kindless", "the attribute `kind` of its class is 'policy'; it must be a member of Kind"),
        ("checkless", "its class has no method `check`"),
        ("pageless", "its class has no docstring, which is its page"),
        ("loud", "the attribute `severity` of its class is 'high'; it must be a member of Severity"),
        ("sure", "the attribute `confidence` of its class is 'high'; it must be a member of Confidence"),
        ("weakening", "the attribute `weakens` of its class is ('no-secrets',); it must be a tuple of members of Guara"),
        ("weakenings", "it must be a tuple of members of Guarantee"),
        ("hintless", "the attribute `hint` of its class is empty; it says what to do about a finding"),
    ],
)
def test_a_rule_that_cannot_be_used_is_one_sentence(
    install: Install, name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    assert main(["audit", "strict", "--rule", name]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_mistake_of_a_rule_is_not_blamed_on_the_file(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install()
    assert main(["audit", "strict", "--rule", "faulty", "--strict"]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "the rule itself ended with KeyError: 'missing'; tell scratch 1.0" in said


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"all": True}, "check yields str, and not Finding"),
        ({"rule": "loud"}, "check yields a finding of the rule 'loud'"),
        ({"severity": "high"}, "the severity or the confidence of a finding is no member of its class"),
        ({"confidence": "high"}, "the severity or the confidence of a finding is no member of its class"),
        ({"location": "here"}, "the location of a finding is no Location with a line and a column"),
        ({"location": Location("here", "1")}, "the location of a finding is no Location with a line and a column"),
        ({"location": Location("here", 1, None)}, "the location of a finding is no Location with a line and a column"),
        ({"weakens": ("no-secrets",)}, "what a finding weakens is no tuple of members of Guarantee"),
        ({"weakens": [Guarantee.NO_SECRETS]}, "what a finding weakens is no tuple of members of Guarantee"),
    ],
)
def test_what_is_no_finding_is_a_mistake_of_the_rule(
    install: Install, capsys: pytest.CaptureFixture[str], wrong: dict[str, object], sentence: str
) -> None:
    install()
    rules.get("careless").wrong = wrong
    for form in ("text", "json", "sarif", "html", "junit", "github"):
        assert main(["audit", "strict", "--rule", "careless", "--strict", "--format", form]) == 2
    capsys.readouterr()
    report = audit(["strict"], more_rules=["careless"])
    (skipped,) = report.not_checked
    assert skipped.reason == f"the rule itself ended with TypeError: {sentence}; tell scratch 1.0"
    assert "careless" not in {each.rule for each in report.findings}


SOON = (datetime.now(UTC) + timedelta(days=100)).date()
IGNORING = """
[[audit.ignore]]
rule = "{}"
at = "policy.toml"
reason = "a rule of another distribution"
expires = {}
"""


def test_findings_of_rules_of_other_distributions_can_be_accepted(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there is such a rule is known without importing it."""
    install()
    monkeypatch.chdir(tmp_path)
    policy = Path("policy.toml")
    for rule, unknown in (("short-description", []), ("my-rule", ["no rule is called my-rule"])):
        policy.write_text(IGNORING.format(rule, SOON))
        policy.chmod(0o644)
        report = audit(["policy.toml"], policy="policy.toml")
        assert [each.message for each in report.findings if each.rule == "ignore-unknown"] == unknown
        assert report.code == bool(unknown)
    assert "scratch_package" not in sys.modules


def test_where_distributions_disagree_an_unknown_rule_is_not_blamed_on_the_policy(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("[rlm_secure.rules]\npolicy-invalid = scratch_package:ShortDescription\n")
    monkeypatch.chdir(tmp_path)
    policy = Path("policy.toml")
    policy.write_text(IGNORING.format("my-rule", SOON))
    policy.chmod(0o644)
    report = audit(["policy.toml"], policy="policy.toml")
    (found,) = [each for each in report.findings if each.rule == "ignore-unknown"]
    assert found.message.startswith("nobody can say whether a rule is called my-rule: scratch 1.0 offers the rule")
    assert report.not_checked == ()


def test_doctor_says_where_the_policy_refuses_what_it_examined(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    main(["doctor", "--environment", "scratch"])
    said = " ".join(capsys.readouterr().out.split())
    assert "scratch: no session is opened under strict: the policy strict does not allow the environment 'scratch'" in said


# -- names --------------------------------------------------------------------------------------------

SHADOWS = """
[rlm_secure.environments]
local = scratch_package:Scratch

[rlm_secure.clients]
openai = scratch_package:Echo

[rlm_secure.rules]
policy-invalid = scratch_package:ShortDescription
"""


def test_no_distribution_takes_a_name_of_ours(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(SHADOWS)
    refused = "which is a name of rlm-secure's own; it must use another name, or be uninstalled"
    for arguments in (["doctor"], ["audit", "--list-rules"]):
        assert main(arguments) == 2
        assert refused in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ValueError, match="scratch 1.0 offers the client 'openai', which is a name of"):
        get_client("echo")
    assert get_environment_class("local").__module__ == "rlm_secure.environments.local.environment"
    assert rules.get("policy-invalid") is rules.BY_ID["policy-invalid"]
    assert "scratch_package" not in sys.modules


def test_two_distributions_with_the_same_name_are_refused(install: Install) -> None:
    install()
    install(ENTRIES, "second")
    with pytest.raises(ValueError, match=r"(scratch|second) 1\.0 and (scratch|second) 1\.0 both offer the environment"):
        get_environment_class("scratch")


def test_nothing_is_looked_up_for_a_name_of_ours() -> None:
    """What is installed is not even listed by who uses ours alone."""
    program = (
        "import rlm_secure.registry as r\nr.plugins = None\n"
        "from rlm_secure import Sandbox\nwith Sandbox() as s: print(s.run('print(1)').stdout)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=150)
    assert done.stdout == "1\n\n", done.stderr


def test_a_distribution_without_a_name_is_said_to_have_none() -> None:
    from importlib.metadata import EntryPoint

    assert registry.provenance(EntryPoint("a", "b:c", "d")) == "a distribution without a name"
