"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD`."""

import sys

from . import zygote


def main():
    """Do what the first argument names."""
    if sys.argv[1:2] == ["zygote"]:
        zygote.main(int(sys.argv[2]))
    else:
        sys.exit("usage: BUNDLE zygote FD")
