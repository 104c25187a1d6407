"""The program of a control: runs an attack in plain Python, inside limits, as a naive host would.

    python -I launch.py JOB        JOB is a JSON file: {cells, facts, prelude, channel, begun, limits}

`begun` is a descriptor that is closed as the attack begins, or null. There is no wall here, so the attack should win;
the limits only protect the machine. As a naive host would, it prints the answer of a cell and the repr of each
variable. Exit status 0 means that the host survived; any other end is its failure.
"""

import ctypes
import importlib.machinery
import json
import os
import resource
import runpy
import sys
import traceback

_CLONE_NEWNS, _CLONE_NEWUTS = 0x00020000, 0x04000000
_MS_REC, _MS_PRIVATE = 16384, 1 << 18


def main(path: str) -> None:
    """Run the job at `path`."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - this program needs nothing but the interpreter
        job = json.load(file)
    if job["channel"] != 3:
        os.dup2(job["channel"], 3)
        os.close(job["channel"])
    if os.getuid() == 0:
        _own_mounts()
    for name, value in job["limits"].items():
        _, ceiling = resource.getrlimit(getattr(resource, name))
        value = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        resource.setrlimit(getattr(resource, name), (value, value))
    names = runpy.run_path(job["prelude"], init_globals={"TARGET": job["facts"]})
    names |= {
        "answer": {"content": "", "ready": False},
        "context": "the quick brown fox\n" * 10,
        "llm_query": _reply,
    }
    given = frozenset(names)
    if job["begun"] is not None:
        os.close(job["begun"])  # from now on the attack's time runs, not that of the interpreter's start
    for cell in job["cells"]:
        try:
            _readable(cell)
        except SyntaxError:
            traceback.print_exc()
            continue
        try:
            names |= runpy.run_path(cell, init_globals=names)
        except Exception as error:  # noqa: BLE001 - a cell may raise; anything that is no Exception ends the host
            traceback.print_exc()
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
    sys.stdout.flush()
    _look_at(names, given)
    sys.stdout.flush()


def _reply(prompt: object, model: str | None = None) -> str:
    """Answer every prompt, without any limit of calls."""
    return f"reply of {model} to " + str(prompt)[:100]


def _readable(cell: str) -> None:
    """Parse a cell as a naive host would: in its own process, handling SyntaxError and nothing else."""
    importlib.machinery.SourceFileLoader("cell", cell).get_code("cell")


def _own_mounts() -> None:
    """Enter mount and UTS namespaces, so that a privileged attack changes only this process's mounts and host name."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS | _CLONE_NEWUTS) or libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None):
        number = ctypes.get_errno()
        raise OSError(number, f"a control needs mounts of its own: {os.strerror(number)}")


def _look_at(names: dict[str, object], given: frozenset[str]) -> None:
    """Print the answer and the variables that the cells left, as a host in the same process would."""
    answer = names.get("answer")
    if isinstance(answer, dict) and answer.get("ready"):
        sys.stdout.write(f"ANSWER {answer['content']}\n")
        json.dumps(answer["content"], allow_nan=False).encode("utf-8")
    for name, value in names.items():
        if not name.startswith("_") and name not in given:
            sys.stdout.write(f"{name} = {value!r}\n")


if __name__ == "__main__":
    main(sys.argv[1])
