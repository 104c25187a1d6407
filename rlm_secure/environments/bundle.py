"""The guest bundle: our guest and RestrictedPython in one zip, the same bytes in all environments.

The zip is deterministic: sorted names, fixed times, no compression (zipimport reads it faster), sources only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rlm_secure.errors import EnvironmentUnavailable

_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENTRY = "from guest.main import main\n\nmain()\n"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The zip's bytes and their sha256, in hexadecimal."""

    data: bytes
    sha256: str


@cache
def bundle() -> Bundle:
    """Build the bundle, once per process. Raises EnvironmentUnavailable when RestrictedPython is missing."""
    restricted = importlib.util.find_spec("RestrictedPython")
    if restricted is None or restricted.origin is None:
        raise EnvironmentUnavailable("RestrictedPython is not installed: pip install 'RestrictedPython>=9.0'")
    files = {"__main__.py": _ENTRY.encode()}
    files.update(_sources(Path(__file__).parents[1] / "guest", "guest"))
    files.update(_sources(Path(restricted.origin).parent, "RestrictedPython"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name])
    data = buffer.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest())


def _sources(root: Path, package: str) -> dict[str, bytes]:
    return {
        f"{package}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in root.rglob("*.py")
        if "tests" not in path.relative_to(root).parts
    }
