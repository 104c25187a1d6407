"""The fonts of matplotlib, read before the files are gone: it opens a font when it draws text.

Guards: that matplotlib opens no font by a path of a cell
"""

from __future__ import annotations

import importlib
import io
import os
from pathlib import Path
from typing import Any


class _FontTypes:
    """Stands in for the module `ft2font` in `font_manager`: its FT2Font reads from memory, never from a path."""

    def __init__(self, inner: Any, files: dict[str, bytes]) -> None:
        self._inner = inner
        self._files = files

    def FT2Font(self, path: Any, **options: Any) -> Any:
        data = self._files.get(os.fspath(path))
        if data is None:
            raise FileNotFoundError(2, "there are only the fonts that come with matplotlib")
        return self._inner.FT2Font(io.BytesIO(data), **options)


class _Standing:
    """A module with some of its members replaced."""

    def __init__(self, inner: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced)
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def keep() -> None:
    """Read all fonts that come with matplotlib, and let it use no others."""
    manager: Any = importlib.import_module("matplotlib.font_manager")
    cbook: Any = importlib.import_module("matplotlib.cbook")
    fonts = {str(path): path.read_bytes() for path in Path(cbook._get_data_path("fonts", "ttf")).glob("*.ttf")}
    # matplotlib asks for some by the path to which links lead.
    files = fonts | {os.path.realpath(path): data for path, data in fonts.items()}

    def known(path: Any) -> bool:
        return str.__str__(os.fspath(path)) in files  # a FontPath has a hash of its own

    manager.fontManager.ttflist = [each for each in manager.fontManager.ttflist if each.fname in files]
    for path in files:
        manager._cached_realpath(path)
    # A font that is no file any more would make it build its list anew, with a thread.
    here = _Standing(os, path=_Standing(os.path, isfile=known, exists=known))
    manager.os = here
    importlib.import_module("matplotlib._mathtext").os = here  # type: ignore[attr-defined]
    manager.ft2font = _FontTypes(manager.ft2font, files)
    manager._get_font.cache_clear()
