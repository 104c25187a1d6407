"""What .ci/aarch64 runs on the emulated machine. Fails by an exception; every line that it prints was found by trying."""

from __future__ import annotations

import contextlib
import io
import json
import platform
import subprocess
import sys
import types
from collections.abc import Callable

import rlm_secure
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.errors import EnvironmentUnavailable
from tests.guest import attacks, cells, honest

#: What cells are told that their module is called.
NAME = cells.Session().space["__name__"]


def plain(source: str) -> str:
    """What a cell prints in plain Python."""
    module, out = types.ModuleType(NAME), io.StringIO()
    sys.modules[NAME] = module  # a dataclass asks for the module of its class
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<cell>", "exec", dont_inherit=True), module.__dict__)
    return out.getvalue()


def ended(run: Callable[[str], str], source: str) -> str:
    """What it prints, or the name of the exception that ends it."""
    try:
        return run(source)
    except Exception as error:
        return type(error).__name__


def main() -> None:
    """The import, the compiler, the language layer, the filters; then what doctor says of the walls."""
    assert (platform.machine(), sys.maxsize) == ("aarch64", 2**63 - 1), platform.uname()
    public = [getattr(rlm_secure, name) for name in rlm_secure.__all__]
    print(f"import: rlm_secure {rlm_secure.__version__} and its {len(public)} names, Python {platform.python_version()}")
    print(f"bundle: {len(bundle().data):,} bytes")

    different = [source for source in honest.HONEST if ended(cells.Session().run, source) != ended(plain, source)]
    assert different == [], different
    print(f"language layer: {len(honest.HONEST)} honest cells end as in plain Python")
    hostile = attacks.ATTRIBUTES
    won = []
    for name, source in hostile.items():
        session = cells.Session()
        session.outcome(source)
        if cells.is_loot(session.space.get("loot")):
            won.append(name)
    assert won == [], won
    print(f"language layer: {len(hostile)} attacks on attributes get nothing")

    try:
        print(f"filters: {len(compile_profile('worker')) // 8} instructions")
    except EnvironmentUnavailable as error:
        print(f"filters: {error}")

    done = subprocess.run(
        [sys.executable, "-m", "rlm_secure", "doctor", "--environment", "local", "--json"], capture_output=True, text=True
    )
    (found,) = json.loads(done.stdout)["environments"]
    print(f"doctor: exit {done.returncode}, available: {found['available']}")
    if found["available"]:
        for name, (level, evidence) in {each["wall"]: (each["level"], each["evidence"]) for each in found["walls"]}.items():
            print(f"  {name}: {level}: {evidence}")
        print(f"  missing: {found['missing']}")
    else:
        print(f"  {found['reason']}")
    # No emulator of programs builds the kernel's walls: a session that opened all the same would be one without them.
    assert done.returncode == 1, done
    refused = subprocess.run([sys.executable, "-m", "rlm_secure", "exec", "-c", "print(1)"], capture_output=True, text=True)
    print(f"exec: exit {refused.returncode}: {refused.stderr.strip()}")
    assert (refused.returncode, refused.stdout) == (2, ""), refused


if __name__ == "__main__":
    main()
