"""What `python -m tests --quick` (`make quick`) runs: the heart, in a minute on two cores, after each change.

The heart is what every session rests on: the language layer, the walls of this machine, what crosses them, who decides,
and the loop. Left out are clouds, Docker, browsers, other Pythons, and attacks on the kernel, each of which takes a minute
or a service; in the files that are here, what is slow. It proves no guarantee by itself: `make test` does.
"""

from __future__ import annotations

from typing import Final

from rlm_secure.environments.local.session import open_session
from rlm_secure.errors import RLMSecureError
from rlm_secure.policy import load_policy

#: Twice the processors: the walls of this machine mostly wait.
JOBS: Final = 4
SECONDS: Final = 60
#: Slow is what takes more than five seconds; root and docker are what not every machine has.
MARKS: Final = "not slow and not exhaustive and not docker and not root"


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}.py" for name in names)


#: What is run together: a name, files, and words as pytest's -k has them. What lasts longest comes first.
PARTS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    # Sealed workers of this machine, from the zygote to what a cell leaves behind. Not how they start where a machine
    # is short of something, how they are shared out, nor how long they last: those tests wait.
    "local sessions": (_in("tests/local", "session"), ""),
    "local walls": (
        _in("tests/local", "zygote_handle", "worker", "seal", "kernels", "seccomp_build", "context", "audit_log"),
        "",
    ),
    # The compiler, the guards and what they give in place of a library. Not the comparison with plain Python, which
    # runs everything twice, what is borrowed from Python's own tests, nor what measures, or calls all within reach.
    "language": (
        _in(
            "tests/guest", "compiler", "guards", "facades", "ordered_dict", "benign", "data", "results", "registry",
            "caches", "call_limits", "class_stores", "contexts", "copying", "held_memory", "hooks", "library_iterators",
            "library_slots", "positions", "signals", "type_variables", "unbound_methods",
        ),
        "not within_reach and not calling_everything and not breaks_the_compiler and not in_time and not good_time",
    ),
    # Every bypass of the language layer that is known, in an arena; without the controls, which say that it is one.
    "bypasses": (_in("tests/bypasses", "bypasses"), "wall_holds"),
    # What a model's turn goes through on the host: read, decided about, paid for, answered.
    "loop": (
        (
            *_in("tests/rlm", "loop", "parsing", "prompts", "budget", "compaction", "handler"),
            *_in("tests", "types", "public_api", "layers"),
        ),
        "not linear_time",
    ),
    "policy and wire": (
        (*_in("tests/policy", "gate", "load", "keys", "extends", "locate"), *_in("tests/broker", "wire", "decoder", "encodable")),
        "",
    ),
}  # fmt: skip


def missing() -> str:
    """The wall of this machine that keeps a session from being opened, in words; "" where all of it stands."""
    try:
        with open_session(load_policy("strict")):
            return ""
    except RLMSecureError as error:
        return str(error)
