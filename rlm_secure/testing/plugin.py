"""The pytest plugin: a sandbox and a policy as fixtures, and the attack corpus as parameters.

    def test_my_cells(secure_sandbox):
        assert secure_sandbox.run("print(6 * 7)").stdout == "42\\n"

    def test_my_environment_holds(rlm_attack):
        verdict = rlm_attack()
        if verdict.result == "not-checked":
            pytest.skip(verdict.evidence)
        assert verdict.held, verdict.evidence  # the attack did not win, and the session did not fail by itself

pytest loads this plugin into every run where the package is installed, so it imports the package only when a fixture
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rlm_secure.policy import Policy
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.testing.arena.attempts import Attempts
    from rlm_secure.testing.corpus import Attack
    from rlm_secure.testing.verdict import Verdict

_ATTACK = "rlm_attack"
_LOCAL = "local"
_CORPUS: pytest.StashKey[tuple[tuple[Attack, ...], tuple[Attack, ...]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--rlm-secure-env and --rlm-secure-policy, with ini twins."""
    group = parser.getgroup("rlm-secure", "sandboxes of rlm-secure")
    for name, default, said in (
        ("env", "local", "the environment that secure_sandbox and rlm_attack use"),
        ("policy", "strict", "the policy of rlm_policy: a shipped name or a TOML file"),
        ("attacks", "", "a folder of attacks of yours, for rlm_attack beside the shipped ones"),
    ):
        shown = default or "none"
        group.addoption(f"--rlm-secure-{name}", default=None, metavar="NAME", help=f"{said} (default: {shown})")
        parser.addini(f"rlm_secure_{name}", f"{said}", default=default)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "rlm_guarantee(*names): use rlm_attack with the attacks on these guarantees only"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each attack of the corpus, for tests that use rlm_attack."""
    if _ATTACK not in metafunc.fixturenames:
        return
    from rlm_secure.guarantees import Guarantee
    from rlm_secure.testing.corpus import for_layer

    # Of our environments only `local` can open a session with the plain Python that KERNEL attacks need; what a
    # foreign session (module:name) has is tested.
    environment = _setting(metafunc.config, "env")
    shipped, own = _attacks(metafunc.config)
    corpus = shipped + own
    if environment != _LOCAL and ":" not in environment:
        corpus = for_layer(corpus, screened=True)
    wanted: set[str] = set()
    for marker in metafunc.definition.iter_markers("rlm_guarantee"):
        wanted.update(str(name) for name in marker.args)
    if unknown := wanted - {guarantee.value for guarantee in Guarantee}:
        raise pytest.UsageError(f"rlm_guarantee names {', '.join(sorted(unknown))}, which is no guarantee")
    attacks = [each for each in corpus if not wanted or each.guarantee.value in wanted]
    metafunc.parametrize(_ATTACK, attacks, indirect=True, ids=[each.name for each in attacks])


@pytest.fixture
def rlm_policy(pytestconfig: pytest.Config) -> Policy:
    """The policy of --rlm-secure-policy. Override it to test under your own."""
    from rlm_secure.policy import load_policy

    return load_policy(_setting(pytestconfig, "policy"))


@pytest.fixture
def secure_sandbox(pytestconfig: pytest.Config, rlm_policy: Policy) -> Iterator[Sandbox]:
    """A fresh Sandbox under rlm_policy, in the environment of --rlm-secure-env."""
    from rlm_secure.sandbox import Sandbox

    with Sandbox(policy=rlm_policy, environment=_setting(pytestconfig, "env")) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def rlm_arena() -> Iterator[Attempts]:
    """The arena in which rlm_attack runs its attacks. Override it to share paths with it."""
    from rlm_secure.testing.arena.attempts import Attempts

    with Attempts() as made:
        yield made


@pytest.fixture
def rlm_attack(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, rlm_policy: Policy, rlm_arena: Attempts
) -> Callable[[], Verdict]:
    """A function that runs one attack of the corpus against --rlm-secure-env, in an arena, and returns its Verdict."""
    from rlm_secure.testing import judge

    attack: Any = request.param
    tight = judge.policy(rlm_policy)
    environment = _setting(pytestconfig, "env")
    own = attack.name not in {each.name for each in _attacks(pytestconfig)[0]}
    return lambda: rlm_arena.attempt(attack, environment, tight, own=own)


def _attacks(config: pytest.Config) -> tuple[tuple[Attack, ...], tuple[Attack, ...]]:
    """The shipped attacks, and those of --rlm-secure-attacks. Their files are read once in a session."""
    from rlm_secure.testing.corpus import load, own

    if _CORPUS not in config.stash:
        folder = _setting(config, "attacks")
        try:
            config.stash[_CORPUS] = load(), own(Path(folder)) if folder else ()
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_CORPUS]


def _setting(config: pytest.Config, name: str) -> str:
    return str(config.getoption(f"--rlm-secure-{name}") or config.getini(f"rlm_secure_{name}"))
