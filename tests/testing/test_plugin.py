"""The pytest plugin, used as its users do: in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
#: Without the plugins that others install: one of them costs two seconds.
PLUGIN = ("-p", "rlm_secure.testing.plugin", *"-p no:cacheprovider -p no:schemathesis -p no:hypothesispytest".split())


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    loaded = () if registered() else PLUGIN[:2]
    return pytester.runpytest_subprocess(*loaded, *PLUGIN[2:], *arguments)


def registered() -> bool:
    """Whether the installed package brings the plugin by itself, as an entry point."""
    from importlib.metadata import entry_points

    return any(each.value == "rlm_secure.testing.plugin" for each in entry_points(group="pytest11"))


def test_the_sandbox_is_behind_walls_and_under_the_policy(pytester: pytest.Pytester) -> None:
    source = """
        def test_it(secure_sandbox, rlm_policy):
            assert rlm_policy.name == "standard"
            assert secure_sandbox.run("import csv; print(6 * 7)").stdout == "42\\n"
            assert "removed-builtin" in secure_sandbox.run("open('/etc/passwd')").stderr
    """
    run(pytester, source, "--rlm-secure-policy", "standard").assert_outcomes(passed=1)


def test_a_policy_of_ones_own_replaces_the_fixture(pytester: pytest.Pytester) -> None:
    source = """
        import pytest
        from rlm_secure.policy import load_policy

        @pytest.fixture
        def rlm_policy():
            return load_policy({"name": "mine", "limits": {"cells": 1}})

        def test_it(secure_sandbox, rlm_policy):
            assert rlm_policy.limits.cells == 1
            assert secure_sandbox.run("print(1)").stdout == "1\\n"
    """
    run(pytester, source).assert_outcomes(passed=1)


def test_the_environment_is_an_option(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_it(secure_sandbox): pass", "--rlm-secure-env", "nowhere")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*unknown environment 'nowhere'*"])


def test_the_corpus_is_a_parameter(pytester: pytest.Pytester) -> None:
    source = """
        import pytest

        @pytest.mark.rlm_guarantee("no-host-files", "no-secrets")
        def test_it(rlm_attack):
            verdict = rlm_attack()
            assert verdict.held, verdict.evidence
    """
    listed = run(pytester, source, "--collect-only", "-q")
    listed.stdout.fnmatch_lines(["*test_it[[]*[]]"])
    attacks = [line for line in listed.outlines if "test_it[" in line]
    assert len(attacks) >= 2
    one = attacks[0].partition("[")[2].rstrip("]")
    run(pytester, source, "-k", one).assert_outcomes(passed=1, deselected=len(attacks) - 1)


def test_an_unknown_guarantee_is_said(pytester: pytest.Pytester) -> None:
    source = """
        import pytest

        @pytest.mark.rlm_guarantee("no-such-thing")
        def test_it(rlm_attack):
            pass
    """
    result = run(pytester, source)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no-such-thing, which is no guarantee*"])


def test_the_attacks_are_read_once_in_a_session(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest
        from rlm_secure.testing import corpus

        load, read = corpus.load, []

        def counted(directory=None):
            read.append(directory)
            return load(directory)

        corpus.load = counted

        @pytest.fixture(scope="session")
        def rlm_arena():
            return None

        def pytest_terminal_summary(terminalreporter):
            terminalreporter.write_line(f"read {len(read)} times")
    """)
    source = """
        def test_one(rlm_attack):
            pass

        def test_two(rlm_attack):
            pass
    """
    run(pytester, source, "-k", "builtin-open or builtin-eval").stdout.fnmatch_lines(["read 1 times", "*4 passed*"])


def test_attacks_that_are_no_good_are_said(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_it(rlm_attack): pass", "--rlm-secure-attacks", str(pytester.path / "nothing"))
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*has no attack; an attack is a file*"])


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    program = (
        "import sys; import rlm_secure.testing.plugin as p; "
        "print([m for m in ('pydantic', 'openai', 'psutil', 'rlm_secure.environments') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=150)
    assert (done.stdout, done.stderr) == ("[]\n", "")


ATTACKS = """
    import os
    import pytest

    @pytest.mark.rlm_guarantee("no-reflection")
    def test_it(rlm_attack):
        verdict = rlm_attack()
        assert (verdict.result, verdict.reach) == {expected!r}, verdict.evidence
        assert not [name for name in os.environ if name.startswith("rlmsecure")], "it was attacked elsewhere"
"""


@pytest.mark.attack
def test_attacks_run_in_an_arena_that_does_not_see_the_project(pytester: pytest.Pytester) -> None:
    """The project lies in /tmp, of which an arena has its own."""
    source = ATTACKS.format(expected=("stopped", None))
    result = run(pytester, source, "--rlm-secure-env", "local", "-k", "builtin-open or builtin-eval")
    result.assert_outcomes(passed=2, deselected=ANY)


@pytest.mark.attack
def test_an_adapter_of_ones_own_is_shared_with_the_arena(pytester: pytest.Pytester) -> None:
    pytester.path.chmod(0o755)  # an arena's users are nobody on this machine
    pytester.makepyfile(mine=(ROOT / "examples" / "adapters" / "plain.py").read_text())
    pytester.makeconftest("""
        from pathlib import Path

        import pytest
        from rlm_secure.testing.arena import Arena
        from rlm_secure.testing.arena.attempts import Attempts
        from rlm_secure.testing.arena.paths import Share

        @pytest.fixture(scope="session")
        def rlm_arena():
            with Attempts(Arena((Share(str(Path(__file__).parent)),))) as made:
                yield made
    """)
    source = ATTACKS.format(expected=("won", "reached"))
    result = run(pytester, source, "--rlm-secure-env", "mine:Plain", "-k", "builtin-open")
    result.assert_outcomes(passed=1, deselected=ANY)


@pytest.mark.attack
def test_an_adapter_that_the_arena_does_not_see_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine="class Mine: pass")
    source = ATTACKS.format(expected=("won", "reached"))
    result = run(pytester, source, "--rlm-secure-env", "mine:Mine", "-k", "builtin-open")
    result.assert_outcomes(failed=1, deselected=ANY)
    result.stdout.fnmatch_lines(["*mine:Mine cannot be imported: ModuleNotFoundError: No module named 'mine'"])
