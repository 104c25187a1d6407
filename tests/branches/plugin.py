"""For a pytest that is measured: what it starts in a sandbox, or in an arena, is measured as well."""

from __future__ import annotations

import sys
from pathlib import Path

from rlm_secure.environments import bundle as bundles
from rlm_secure.testing import arena
from tests.branches import report

_TRACER = Path(__file__).with_name("tracer.py")
_BUILDER = """import runpy, sys
sys.path.insert(0, {directory!r})
from rlm_secure_tracer import start
del sys.path[0]
start({table!r}, {names!r})
runpy.run_path({build!r}, run_name="__main__")
"""


def install(directory: Path) -> None:
    """Have the guest, and the builder of arenas, mark their branches in a file in `directory`."""
    table = report.table(directory)
    tracer = {"rlm_secure_tracer.py": _TRACER.read_bytes()}
    entry = f"from rlm_secure_tracer import start\n\nstart({str(table)!r}, {report.names()!r})\n{bundles._ENTRY}"
    sources = bundles._sources

    def with_tracer(root: Path, package: str) -> dict[str, bytes]:
        return sources(root, package) | (tracer if package == "guest" else {})

    def keep(_data: bytes, _path: Path) -> None:
        """Nothing of this goes where the real bundle is kept."""

    bundles._ENTRY, bundles._sources, bundles._keep = entry, with_tracer, keep
    builder = directory / "builder.py"
    written = _BUILDER.format(
        directory=str(directory), table=str(table), names=report.names(), build=str(arena._BUILD)
    )
    for path, text in ((directory / "rlm_secure_tracer.py", _TRACER.read_text()), (builder, written)):
        if not path.exists():
            path.write_text(text)
    arena._BUILD = builder
    assert "coverage" in sys.modules, "run by `python -m tests --coverage`"
