"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD`."""

from __future__ import annotations

import sys

from . import zygote


def main() -> None:
    """Do what the first argument names."""
    if sys.argv[1:2] == ["zygote"]:
        zygote.main(int(sys.argv[2]))
    else:
        sys.exit("usage: BUNDLE zygote FD")
