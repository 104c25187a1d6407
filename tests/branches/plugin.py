"""A plugin of coverage.py: what a measured process starts in a sandbox or in an arena, and its forks, are measured too.

It patches modules of the host when they are imported, in this process alone: the bundle gets the tracer, and programs
that a bare interpreter runs are started through it. A fork, which coverage.py forgets when it is killed, or ends by
os._exit(), goes on under the tracer.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.abc
import importlib.util
import io
import json
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.branches import tracer

_TRACER = Path(tracer.__file__)
#: Run in its own namespace: whoever imports it finds what the program defines.
_PROGRAM = """import sys
sys.path.insert(0, {directory!r})
from rlm_secure_tracer import start
del sys.path[0]
start({table!r}, *{names!r})
with open({program!r}, encoding="utf-8") as source:
    exec(compile(source.read(), {program!r}, "exec"), globals())
"""


def coverage_init(_registry: Any, _options: dict[str, Any]) -> None:
    """Called by coverage.py in each process that it measures, before anything of ours is imported."""
    directory = os.environ.get("RLM_SECURE_COVERAGE", "")
    if not directory or any(isinstance(each, _Patches) for each in sys.meta_path):
        return
    patches = _Patches(Path(directory))
    sys.meta_path.insert(0, patches)
    table = tracer.shared(patches.table, tracer.size(*patches.names))

    def go_on() -> None:
        tracer.trace(table, *patches.names)
        threading.settrace(sys.gettrace())  # type: ignore[arg-type]

    if table is not None:
        os.register_at_fork(after_in_child=go_on)


class _Patches(importlib.abc.MetaPathFinder):
    """Finds the modules to patch where everybody finds them, and patches them when they were run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.table = str(directory / "arcs")
        self.names: list[list[str]] = json.loads((directory / "names.json").read_text())
        self._patches: dict[str, Callable[[ModuleType], None]] = {
            "rlm_secure.environments.bundle": self._bundle,
            "rlm_secure.environments.local.image": self._image,
            "rlm_secure.testing.arena": self._arena,
            "rlm_secure.testing.nested": self._by_its_file,
            "rlm_secure.testing.processes": self._plain,
            "rlm_secure.agents.tables.read": self._beside,
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

    def _image(self, images: Any) -> None:
        def refuse(_: Any) -> Any:
            raise ValueError("what is measured runs the bundle, which has the tracer")

        images._kept = images._build = refuse

    def _bundle(self, bundles: Any) -> None:
        real, begin = bundles.bundle, f"start({self.table!r}, *{self.names!r})"

        @functools.cache
        def traced() -> Any:
            """The bundle that users have, with the tracer in it: made of the real one, which is kept compiled."""
            with zipfile.ZipFile(io.BytesIO(real().data)) as archive:
                files = {name: archive.read(name) for name in archive.namelist() if name != "__main__.pyc"}
            files["rlm_secure_tracer.py"] = _TRACER.read_bytes()
            files["__main__.py"] = f"from rlm_secure_tracer import start\n\n{begin}\n{bundles._ENTRY}".encode()
            data = bundles._archive(files)
            return bundles.Bundle(data, hashlib.sha256(data).hexdigest())

        traced.__wrapped__ = real.__wrapped__  # type: ignore[attr-defined]  # tests of it make the real one
        bundles.bundle = traced

    def _arena(self, arena: Any) -> None:
        arena._BUILD = self._traced(Path(arena._BUILD))

    def _plain(self, processes: Any) -> None:
        processes._LAUNCH = self._traced(processes._LAUNCH)

    def _by_its_file(self, nested: Any) -> None:
        nested.__file__ = str(self._traced(Path(nested.__file__)))  # which it starts itself by

    def _beside(self, read: Any) -> None:
        child = self._traced(Path(read.__file__).with_name("child.py"))
        read.__file__ = str(child.with_name("read.py"))  # which it looks for the program beside

    def _traced(self, program: Path) -> Path:
        """A program of the same name that runs `program` under the tracer."""
        starter = self._directory / "traced" / program.name
        starter.parent.mkdir(exist_ok=True)
        told = {"directory": str(self._directory), "table": self.table, "names": self.names, "program": str(program)}
        for path, text in (
            (self._directory / "rlm_secure_tracer.py", _TRACER.read_text()),
            (starter, _PROGRAM.format(**told)),
        ):
            if not path.exists():
                beside = path.with_suffix(f".{os.getpid()}")
                beside.write_text(text)
                beside.rename(path)
        return starter
