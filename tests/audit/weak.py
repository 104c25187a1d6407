"""Environments without walls, to show that an audit can fail, and ones that fail themselves. Test-only."""

from __future__ import annotations

import os
import time

from rlm_secure.testing import Adapter, Said


class Raises(Adapter):
    """Works until the judge has tried it, then raises."""

    def run(self, code: str, timeout: float) -> Said:
        if "TARGET" in code:
            raise RuntimeError("the adapter is broken")
        return _printed(code)


class RaisesOnce(Adapter):
    """Raises in its first session, and holds after that: nobody can reach anything in it."""

    def run(self, code: str, timeout: float) -> Said:
        mark = f"/tmp/raised-once-{os.getppid()}"
        if "TARGET" in code and not os.path.exists(mark):
            open(mark, "w").close()
            raise RuntimeError("only this once")
        return _printed(code)


class NeverStarts(Adapter):
    """Has no session to give."""

    def __init__(self) -> None:
        raise OSError("there is no such sandbox")

    def run(self, code: str, timeout: float) -> Said:
        raise AssertionError


class Dies(Adapter):
    """Takes its host along as soon as it is attacked."""

    def run(self, code: str, timeout: float) -> Said:
        if "TARGET" in code:
            os.abort()
        return _printed(code)


class Hangs(Adapter):
    """Never answers an attack."""

    def run(self, code: str, timeout: float) -> Said:
        if "TARGET" not in code and "x = 1" not in code:
            return _printed(code)
        if "x = 1" in code:
            time.sleep(60)
        return Said()


class Boasts(Adapter):
    """Says WON where nothing was won: in an error, in a traceback, and in the middle of a word."""

    def run(self, code: str, timeout: float) -> Said:
        if "x = 1" in code:
            return Said('  print("WON it")\nSWONK', "WON said to stderr", "WON in an error")
        return _printed(code)


def no_adapter() -> object:
    """Makes something else."""
    return object()


def _printed(code: str) -> Said:
    """What the judge's own trials print, and nothing for all the rest."""
    if "6 * 7 == 42" in code:
        return Said("HAS True\n")
    return Said("42\n" if "print(6 * 7)" in code else "")
