"""The files that are mutated, and what was found of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.mutation.survivors import SURVIVORS

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "mutation.json"
_LANGUAGE = tuple(
    f"tests/guest/test_{name}.py"
    for name in (
        "attribute_builtins", "attributes", "class_stores", "contexts", "copying", "facades", "guards", "hooks",
        "inlined", "names", "ordered_dict", "registry", "type_variables",
    )  # fmt: skip
)
#: The tests of each file that is mutated, the quickest first.
TESTS: dict[str, tuple[str, ...]] = {
    "rlm_secure/broker/protocol.py": (
        "tests/broker/test_decoded.py", "tests/broker/test_decoder.py", "tests/broker/test_json_bounds.py",
    ),
    "rlm_secure/untrusted_json.py": ("tests/broker/test_json_bounds.py", "tests/broker/test_decoder.py"),
    "rlm_secure/guest/wire.py": ("tests/broker/test_wire.py", "tests/broker/test_json_bounds.py"),
    "rlm_secure/policy/gate.py": ("tests/policy/test_gate.py",),
    "rlm_secure/rlm/budget.py": ("tests/rlm/test_budget.py",),
    "rlm_secure/scale/leases.py": ("tests/scale/test_leases.py",),
    "rlm_secure/guest/language/guards.py": _LANGUAGE,
    "rlm_secure/guest/language/attributes.py": _LANGUAGE,
}


def digest(name: str) -> str:
    """Of the text of the file `name`."""
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def keep(name: str, found: dict[str, Any]) -> None:
    """Record what a run of the whole file found."""
    rows = {each: {key: value for key, value in row.items() if key != "current"} for each, row in recorded().items()}
    RECORD.write_text(json.dumps(dict(sorted((rows | {name: found}).items())), indent=2) + "\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Any]]:
    """What is recorded of files that are still mutated; `current` where it was found for the text that they have. What has a
    reason by now is explained."""
    rows = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return {
        name: {
            **row,
            "unexplained": [each for each in row["unexplained"] if each["change"] not in SURVIVORS.get(name, {})],
            "current": row["sha256"] == digest(name),
        }
        for name, row in rows.items()
        if name in TESTS
    }
