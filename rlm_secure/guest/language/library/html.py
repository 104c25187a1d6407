"""The submodule of html."""

from __future__ import annotations

import html.parser as parser  # noqa: F401 - read by the loader
