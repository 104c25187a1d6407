"""Coverage-guided fuzzing of the compiler: any text gives code or a Refusal, within a second.

    pip install atheris
    python -m tests.guest.fuzz_atheris -max_total_time=60

Starts from the honest cells and the attacks of this folder. Arguments are libFuzzer's. Not collected by pytest:
test_fuzz_compiler.py holds the same promise with Hypothesis, in seconds.
"""

from __future__ import annotations

import resource
import sys
import time
import types

import atheris

with atheris.instrument_imports(include=["rlm_secure.guest"]):
    from rlm_secure.guest.language import compiler

from rlm_secure.removal import Scratch
from tests.guest.attacks import ATTACKS
from tests.guest.honest import HONEST

SECONDS = 1.0


def one_input(data: bytes) -> None:
    """One cell, from arbitrary bytes."""
    source = data.decode("utf-8", "surrogateescape" if data[:1] == b"\xff" else "replace")
    begun = time.process_time()
    try:
        made = compiler.compile_cell(source, source_bytes=64 * 1024, ast_nodes=20_000)
    except compiler.CellRefused as refusal:
        assert refusal.rule and str(refusal)
    else:
        assert type(made) is types.CodeType
    assert time.process_time() - begun < SECONDS, "the compiler took too long"


def main() -> None:
    """Fuzz until libFuzzer's arguments say stop."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Scratch() as folder:
        for number, source in enumerate((*HONEST, *ATTACKS.values())):
            (folder / f"{number}.py").write_text(source, encoding="utf-8")
        atheris.Setup([sys.argv[0], "-max_len=4096", "-timeout=10", *sys.argv[1:], str(folder)], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
