"""A plugin of coverage.py: what a measured process starts in a sandbox, or in an arena, is measured as well.

It patches two modules of the host when they are imported, in this process alone: the bundle gets the tracer, and the
builder of arenas is started through it.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_TRACER = Path(__file__).with_name("tracer.py")
_BUILDER = """import runpy, sys
sys.path.insert(0, {directory!r})
from rlm_secure_tracer import start
del sys.path[0]
start({table!r}, {names!r})
runpy.run_path({build!r}, run_name="__main__")
"""


def coverage_init(_registry: Any, _options: dict[str, Any]) -> None:
    """Called by coverage.py in each process that it measures, before anything of ours is imported."""
    directory = os.environ.get("RLM_SECURE_COVERAGE", "")
    if directory and not any(isinstance(each, _Patches) for each in sys.meta_path):
        sys.meta_path.insert(0, _Patches(Path(directory)))


class _Patches(importlib.abc.MetaPathFinder):
    """Finds the modules to patch where everybody finds them, and patches them when they were run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._patches: dict[str, Callable[[ModuleType], None]] = {
            "rlm_secure.environments.bundle": self._bundle,
            "rlm_secure.testing.arena": self._arena,
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        patch = self._patches.pop(name, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        run = spec.loader.exec_module

        def run_and_patch(module: ModuleType) -> None:
            run(module)
            patch(module)

        spec.loader.exec_module = run_and_patch  # type: ignore[method-assign]
        return spec

    def _bundle(self, bundles: Any) -> None:
        from tests.branches import report

        tracer = {"rlm_secure_tracer.py": _TRACER.read_bytes()}
        begin = f"start({str(report.table(self._directory))!r}, {report.names()!r})"
        sources = bundles._sources

        def with_tracer(root: Path, package: str) -> dict[str, bytes]:
            found: dict[str, bytes] = sources(root, package)
            return found | (tracer if package == "guest" else {})

        def keep(_data: bytes, _path: Path) -> None:
            """Nothing of this goes where the real bundle is kept."""

        bundles._ENTRY = f"from rlm_secure_tracer import start\n\n{begin}\n{bundles._ENTRY}"
        bundles._sources, bundles._keep = with_tracer, keep

    def _arena(self, arena: Any) -> None:
        from tests.branches import report

        names, table = report.names(), str(report.table(self._directory))
        told = {"directory": str(self._directory), "table": table, "names": names, "build": str(arena._BUILD)}
        builder = self._directory / "builder.py"
        for path, text in (
            (self._directory / "rlm_secure_tracer.py", _TRACER.read_text()),
            (builder, _BUILDER.format(**told)),
        ):
            if not path.exists():
                path.write_text(text)
        arena._BUILD = builder
