"""Sandboxes with habits: honest ones, in which no attack reaches anything, and ones with a hole that hides well.

They are imported by the programs that hold them, as those in cells.py.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from examples.adapters.plain import Plain
from rlm_secure.testing import Adapter, Said

# -- honest ones ------------------------------------------------------------------------------------


class Sums(Adapter):
    """As safe as can be: it knows what its judge tries, answers as if it had everything, and refuses all else."""

    shape = staticmethod(str)

    def run(self, code, timeout):
        if code.startswith("TARGET = "):
            return Said()
        said = "HAS True\n" if "HAS" in code else "42\n" if "6 * 7" in code else ""
        return Said(self.shape(said), "", None if said else "refused")


class Banner(Sums):
    shape = staticmethod("Sums 1.0, type help for help\n{}".format)


class Boxed(Sums):
    shape = staticmethod("<output>\n{}</output>\n".format)


class Coloured(Sums):
    shape = staticmethod("\x1b[32m{}\x1b[0m".format)


class Object(Sums):
    """Says it as a tool of an agent does."""

    shape = staticmethod(lambda said: json.dumps({"output": said}))


class Warm(Sums):
    """The first session is ready before it is wanted; each further one takes its time."""

    ready = [True]

    def __init__(self):
        if not Warm.ready or not Warm.ready.pop():
            time.sleep(0.4)


class Single(Sums):
    """One session at a time."""

    taken = False

    def __init__(self):
        if Single.taken:
            raise RuntimeError("close the other session first")
        Single.taken = True

    def close(self):
        Single.taken = False


class SingleRun(Sums):
    """One session at a time has a machine: another one that is opened meanwhile runs nothing."""

    holder = None

    def run(self, code, timeout):
        SingleRun.holder = SingleRun.holder or self
        if SingleRun.holder is not self:
            raise RuntimeError("close the other session first")
        return super().run(code, timeout)

    def close(self):
        SingleRun.holder = None if SingleRun.holder is self else SingleRun.holder


class Far(Single):
    """A process for each run, which is stopped in time, a long way off; one session at a time."""

    keeps_state = False

    def run(self, code, timeout):
        if "HAS" in code and "6 * 7" not in code:
            return super().run(code, timeout)  # what there is, it knows here
        time.sleep(1)
        try:
            done = subprocess.run([sys.executable, "-ISc", code], capture_output=True, text=True, timeout=timeout)
            return Said(done.stdout, done.stderr, done.stderr or None)
        except subprocess.TimeoutExpired:
            return Said(error="stopped")
        finally:
            time.sleep(1)


class ForkServer(Sums):
    """Each run is a fork of a process that has 160 MiB of libraries, and adds nothing to them."""

    libraries = b""

    def __init__(self):
        ForkServer.libraries = ForkServer.libraries or b"x" * (160 << 20)

    def run(self, code, timeout):
        if (pid := os.fork()) == 0:
            time.sleep(0.2 if "HAS" not in code else 0)
            os._exit(0)
        os.waitpid(pid, 0)
        return super().run(code, timeout)


class Covers(Sums):
    """Covers everybody's directories in /tmp, for itself alone, before it runs anything."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        for entry in os.scandir("/tmp"):
            if entry.is_dir(follow_symlinks=False) and libc.mount(b"none", os.fsencode(entry.path), b"tmpfs", 0, None):
                raise OSError(ctypes.get_errno(), "it cannot be covered", entry.path)


class Daemon(Sums):
    """What all sessions share starts with the first run."""

    shared = None

    def run(self, code, timeout):
        Daemon.shared = Daemon.shared or subprocess.Popen(["sleep", "1000"])
        return super().run(code, timeout)


class Chatty(Sums):
    """Its start shows its progress, and a lot of it, on its host's standard error."""

    def __init__(self):
        for percent in range(101):
            os.write(2, b"\rfetching " + b"#" * 11_000 + b" %3d%%" % percent)


# -- ones with a hole -------------------------------------------------------------------------------


class Bare(Adapter):
    """Python in a process without a single variable, which is killed at the end; nothing else is in the way."""

    inside = """
import json, sys
names = {}
for line in sys.stdin:
    try:
        exec(json.loads(line), names)
        print("ran", flush=True)
    except Exception:
        print("raised", flush=True)
"""

    def __init__(self):
        self.child = subprocess.Popen([sys.executable, "-ISc", self.inside], stdin=-1, stdout=-1, text=True, env={})

    def run(self, code, timeout):
        if "HAS" in code or "6 * 7" in code:
            return Said("HAS True\n" if "HAS" in code else "42\n")
        self.child.stdin.write(json.dumps(code) + "\n")
        self.child.stdin.flush()
        return Said(error=None if self.child.stdout.readline() == "ran\n" else "raised")

    def close(self):
        self.child.kill()
        self.child.communicate()


class Abandons(Plain):
    """Says that it stopped what it only leaves alone, in a thread."""

    def run(self, code, timeout):
        said = []
        worker = threading.Thread(target=lambda: said.append(super(Abandons, self).run(code, timeout)), daemon=True)
        worker.start()
        worker.join(timeout)
        return said[0] if said else Said(error="stopped")


class OwnTemp(Plain):
    """A directory for the temporary files of each session, which nobody removes."""

    def __init__(self):
        super().__init__()
        tempfile.tempdir = tempfile.mkdtemp(prefix="session-")


class Narrow(Plain):
    """Prints as on a terminal of 32 columns."""

    def run(self, code, timeout):
        said = super().run(code, timeout)
        return said._replace(stdout="\n".join(said.stdout[at : at + 32] for at in range(0, len(said.stdout), 32)))


class Painted(Plain):
    """Prints digits in a colour of their own."""

    def run(self, code, timeout):
        said = super().run(code, timeout)
        return said._replace(stdout="".join(f"\x1b[1;36m{c}\x1b[0m" if c.isdigit() else c for c in said.stdout))


class Generous(Plain):
    """Keeps to a million characters of output, whatever it is told."""

    def run(self, code, timeout):
        said = super().run(code, timeout)
        return Said(said.stdout[:1_000_000])


class NoSys(Plain):
    """Python with its modules, but for some."""

    def __init__(self):
        super().__init__()
        self._names["__builtins__"] = {**vars(builtins), "__import__": self.guarded}

    def guarded(self, name, *more, **options):
        if name in ("sys", "ctypes", "subprocess", "importlib"):
            raise ImportError(name)
        return __import__(name, *more, **options)
