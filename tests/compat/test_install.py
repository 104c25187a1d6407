"""Upstream's module paths are served from rlm_secure.compat, for whoever asks for that, and not over somebody else's."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rlm_secure.compat

#: Upstream's modules, of which training code, notebooks and tests import any.
MODULES = (
    "rlm",
    "rlm.clients",
    "rlm.clients.anthropic",
    "rlm.clients.azure_openai",
    "rlm.clients.base_lm",
    "rlm.clients.gemini",
    "rlm.clients.openai",
    "rlm.clients.portkey",
    "rlm.core",
    "rlm.core.comms_utils",
    "rlm.core.lm_handler",
    "rlm.core.rlm",
    "rlm.core.types",
    "rlm.environments",
    "rlm.environments.base_env",
    "rlm.environments.daytona_repl",
    "rlm.environments.docker_repl",
    "rlm.environments.e2b_repl",
    "rlm.environments.ipython_repl",
    "rlm.environments.local_repl",
    "rlm.environments.modal_repl",
    "rlm.environments.prime_repl",
    "rlm.logger",
    "rlm.logger.rlm_logger",
    "rlm.logger.verbose",
    "rlm.utils",
    "rlm.utils.exceptions",
    "rlm.utils.parsing",
    "rlm.utils.prompts",
    "rlm.utils.rlm_utils",
    "rlm.utils.token_utils",
)


def python(program: str, *paths: Path) -> str:
    """What a program prints in a process of its own: `rlm` here is for nobody else."""
    body = f"import sys; sys.path[:0] = {[str(each) for each in paths]!r}\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a package of somebody else's called `rlm`."""
    (tmp_path / "rlm").mkdir()
    (tmp_path / "rlm" / "__init__.py").write_text("whose = 'theirs'\n", encoding="utf-8")
    return tmp_path


def test_every_module_of_upstream_is_served_as_the_one_object_that_it_is() -> None:
    printed = python(
        f"""
        import importlib
        import rlm_secure.compat
        rlm_secure.compat.install()
        rlm_secure.compat.install()
        for name in {MODULES!r}:
            ours = importlib.import_module("rlm_secure.compat" + name.removeprefix("rlm"))
            assert importlib.import_module(name) is ours, name
            for each in getattr(ours, "__all__", ()):
                getattr(ours, each)
        import rlm, rlm.environments.local_repl
        from rlm.core.rlm import RLM
        from rlm_secure import RLM as ours
        assert RLM is ours is rlm.RLM
        print(rlm.environments.local_repl.LocalREPL.__module__)
        """
    )
    assert printed == "rlm_secure.compat.environments.local_repl"


def test_every_file_is_one_of_upstreams_modules() -> None:
    ours = {f"rlm{each.name.removeprefix('rlm_secure.compat')}" for each in walk()}
    assert ours - set(MODULES) == {"rlm.finder", "rlm.environments.repl"}


def walk() -> list[pkgutil.ModuleInfo]:
    return list(pkgutil.walk_packages(rlm_secure.compat.__path__, "rlm_secure.compat."))


def test_what_upstream_does_not_have_is_not_found() -> None:
    python(
        """
        import rlm_secure.compat
        rlm_secure.compat.install()
        try:
            import rlm.nothing
        except ModuleNotFoundError as error:
            assert error.name == "rlm.nothing", error
        else:
            raise SystemExit("found")
        """
    )


def test_without_install_there_is_no_such_name() -> None:
    assert python("import importlib.util, rlm_secure.compat\nprint(importlib.util.find_spec('rlm'))") == "None"


def test_a_package_of_that_name_is_not_shadowed_unless_that_is_asked_for(other: Path) -> None:
    printed = python(
        """
        import rlm_secure.compat
        try:
            rlm_secure.compat.install()
        except ImportError as error:
            print(error)
        import rlm
        assert rlm.whose == "theirs"
        try:
            rlm_secure.compat.install()
        except ImportError as error:
            print(error)
        rlm_secure.compat.install(force=True)
        from rlm import RLM
        import rlm
        print(rlm.__name__)
        """,
        other,
    ).splitlines()
    assert "pip uninstall rlms" in printed[0]
    assert "imported as 'rlm' already" in printed[1]
    assert printed[2] == "rlm_secure.compat"


def test_threads_that_install_at_once_install_it_once() -> None:
    printed = python(
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        from rlm_secure.compat import install
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: (install(), __import__("rlm.core.types")), range(32)))
        print(sum(type(each).__module__ == "rlm_secure.compat.finder" for each in sys.meta_path))
        """
    )
    assert printed == "1"


def test_the_words_of_the_real_package_are_not_taken_from_here() -> None:
    printed = python(
        """
        import rlm_secure.compat
        from rlm_secure.errors import MissingExtra
        from rlm_secure.rlm.prompts import prompt_set
        rlm_secure.compat.install()
        try:
            prompt_set("rlms")
        except MissingExtra as error:
            print("missing")
        """
    )
    assert printed == "missing"


def test_a_client_put_into_upstreams_module_reaches_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("rlm_secure.compat.core.rlm")
    from rlm_secure.clients.scripted import ScriptedClient

    monkeypatch.setattr(module, "get_client", lambda *_: ScriptedClient(turns=["FINAL(42)"]))
    assert module.RLM().completion("q").response == "42"
