"""Adapters to be attacked: plain exec() in several ways. They are imported by the programs that hold them."""

from __future__ import annotations

import contextlib
import io
import os
import time

import psutil

from rlm_secure.testing import Adapter, Said
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.target import Bounds

#: So many seconds that a cell which takes memory ends on a machine that is slow to give any.
BOUNDS = Bounds(seconds=10.0, grace=0.1)


class Cells(Adapter):
    """Plain exec(), like examples/adapters/plain.py."""

    def __init__(self):
        self.names = {"session": self}

    def run(self, code, timeout):
        if code == "raise in the adapter":
            raise RuntimeError("out of \ud800 order")
        if code == "return in the adapter":
            return None
        out, error = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                exec(code, self.names if self.keeps_state else dict(self.names))
            except Exception as raised:
                error = repr(raised)
        return Said(out.getvalue(), "", error)

    def limit(self, limits):
        self.names["limits"] = limits

    def load_context(self, context):
        self.names["context"] = context

    def close(self):
        os.write(1, b"closed")


class Forgets(Cells):
    keeps_state = False


class Answers(Cells):
    """Has what a session for language models has, and no modules."""

    def __init__(self):
        self.names = {"answer": {"content": ""}, "llm_query": print, "__builtins__": {"print": print}}


class Silent(Cells):
    def run(self, code, timeout):
        return Said()


class NeverStarts(Cells):
    def __init__(self):
        raise OSError("there is no such sandbox")


def something_else():
    return object()


def named(kind):
    return f"tests.attacks.cells:{kind}"


@contextlib.contextmanager
def opened(target, kind):
    ground = ForeignGround(kind, BOUNDS)
    try:
        yield ground.opener(target)
    finally:
        ground.close()


def said(session, code):
    result = session.run(code)
    assert result.error is None, result.error
    return result.stdout


def gone(pid):
    """Whether a process ends within 5 s. It may do so between any two looks at it."""
    deadline = time.monotonic() + 5
    with contextlib.suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
    return True
