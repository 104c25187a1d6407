"""threat-model.md is held to the code: every claim has walls, an attack, a test, and a session that agrees."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from rlm_secure import Sandbox
from rlm_secure.guarantees import RESTS_ON, EnforcementReport, Guarantee, Level, Wall, WallStatus
from tests import share, trusted
from tests.test_layers import JSON_READERS, NAMED_FILES

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "threat-model.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Claim:
    """One row of the claims table."""

    id: str
    claim: str
    local: str
    walls: tuple[str, ...]
    attacks: tuple[str, ...]
    tests: tuple[str, ...]


def rows(text: str, first_header: str) -> list[list[str]]:
    """The cells of the table whose header row begins with `first_header`."""
    found: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(f"| {first_header} |"):
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("| ---"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def quoted(cell: str) -> tuple[str, ...]:
    """The `code` spans of a cell."""
    return tuple(re.findall(r"`([^`]+)`", cell))


def claims(text: str) -> list[Claim]:
    """The claims table."""
    return [
        Claim(quoted(id_)[0], claim, local, quoted(walls), quoted(attacks), quoted(tests))
        for id_, claim, local, walls, attacks, tests in rows(text, "id")
    ]


@functools.cache  # many claims name one file
def defined_tests(path: Path) -> frozenset[str]:
    """Names of the test functions in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def problems(text: str, root: Path = ROOT) -> list[str]:
    """Everything that the claims table says and the tree does not bear out."""
    found: list[str] = []
    table = claims(text)
    ids = [claim.id for claim in table]
    found += [f"no claim for {guarantee.value}" for guarantee in Guarantee if guarantee.value not in ids]
    found += [f"{name} is no guarantee" for name in ids if name not in set(Guarantee)]
    found += [f"{name} is claimed twice" for name in set(ids) if ids.count(name) > 1]
    for claim in table:
        found += [f"{claim.id}: {wall} is no wall" for wall in claim.walls if wall not in set(Wall)]
        if claim.id in set(Guarantee):
            alternatives = RESTS_ON[Guarantee(claim.id)]
            if not any(alternative <= set(claim.walls) for alternative in alternatives):
                found.append(f"{claim.id}: its walls do not carry it; see RESTS_ON")
        if not claim.attacks:
            found.append(f"{claim.id}: no attack")
        if not claim.tests:
            found.append(f"{claim.id}: no test")
        for path in claim.attacks:
            if not (root / path).is_file():
                found.append(f"{claim.id}: {path} does not exist")
            elif f"\nguarantee: {claim.id}\n" not in (root / path).read_text(encoding="utf-8"):
                found.append(f"{claim.id}: {path} attacks something else")
        for test in claim.tests:
            path, _, name = test.partition("::")
            if not (root / path).is_file():
                found.append(f"{claim.id}: {path} does not exist")
            elif name and name not in defined_tests(root / path):
                found.append(f"{claim.id}: {path} has no {name}")
    return found


def test_every_claim_has_walls_an_attack_and_a_test() -> None:
    assert problems(TEXT) == []


def test_every_push_runs_the_tests_of_every_claim() -> None:
    named = {test for claim in claims(TEXT) for test in claim.tests}
    assert len(named) > 20
    assert [test for test in sorted(named) if share.pushes(test) != 1] == []


def test_the_local_column_is_what_a_session_reports() -> None:
    with Sandbox(policy="strict") as sandbox:
        report = sandbox.report
    assert disagreements(TEXT, report) == []


def disagreements(text: str, report: EnforcementReport) -> list[str]:
    """Claims whose level is not the one that a session found."""
    return [
        f"{claim.id}: the table says {claim.local}, a session says {report.guarantee(Guarantee(claim.id)).value}"
        for claim in claims(text)
        if claim.local != report.guarantee(Guarantee(claim.id)).value
    ]


#: Files that reach past Python without guarding anything, each with its reason.
NO_GUARDS = {
    "guest/language/held_memory.py": "the language layer, which is no boundary",
    "guest/session/memory.py": "maps what the host has sealed, in a worker that nobody else shares",
    "guest/language/unbound_methods.py": "the language layer, which is no boundary",
    "guest/language/unicode_errors.py": "the language layer, which is no boundary",
    "testing/launch.py": "a control has no walls; the arena around it has",
}


def test_the_lists_of_trusted_files_are_what_the_files_say() -> None:
    assert trusted.written(TEXT, trusted.tables(trusted.trusted())) == TEXT, "run: python -m tests.trusted"


def test_a_file_that_is_listed_or_says_so_alone_is_caught() -> None:
    said = trusted.trusted()
    path = "rlm_secure/broker/protocol.py"
    for other in ({each: what for each, what in said.items() if each != path}, {**said, "rlm_secure/new.py": "walls"}):
        assert trusted.written(TEXT, trusted.tables(other)) != TEXT
    assert trusted.guards('"""One line.\n\nGuards: a\nwall.\n"""') == "a wall"
    assert trusted.guards('"""One line.\n\nIt Guards: nothing.\n"""') is None
    assert trusted.guards('# Guards: nothing') is None
    with pytest.raises(ValueError, match="has no"):
        trusted.written("no markers", trusted.tables(said))


def test_every_file_that_reaches_past_python_or_reads_json_of_others_says_what_it_guards() -> None:
    reaching = {*NAMED_FILES["ctypes"], *JSON_READERS}
    assert {path for path in reaching if f"rlm_secure/{path}" not in trusted.trusted()} == NO_GUARDS.keys()


def test_every_part_that_is_called_a_boundary_is_a_trusted_file() -> None:
    named = [path for part, boundary, _ in rows(TEXT, "part") if "yes" in boundary for path in quoted(part)]
    assert "rlm_secure/broker/protocol.py" in named
    assert [path for path in named if path.startswith("rlm_secure/") and path not in trusted.trusted()] == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("| `no-exec` |", "| `no-such-thing` |", "no claim for no-exec"),
        ("| `no-exec` |", "| `no-network` |", "no-network is claimed twice"),
        ("`output-cap`", "`nothing`", "nothing is no wall"),
        ("`seccomp`", "", "its walls do not carry it"),
        ("tests/", "tests/missing/", "does not exist"),
        ("::test_", "::test_missing_", "has no test_missing_"),
        ("execve-of-a-shell.py", "file-in-tmp.py", "attacks something else"),
    ],
)
def test_a_claim_that_does_not_hold_is_caught(old: str, new: str, problem: str) -> None:
    assert old in TEXT
    assert any(problem in each for each in problems(TEXT.replace(old, new)))


def test_a_level_that_no_session_reports_is_caught() -> None:
    nothing = EnforcementReport("local", ())
    assert len(disagreements(TEXT, nothing)) == len(Guarantee)


def test_a_report_is_iterated_over_its_walls_and_ends() -> None:
    walls = tuple(WallStatus(wall, Level.FULL, "tried") for wall in (Wall.SECCOMP, Wall.LANDLOCK))
    assert list(islice(EnforcementReport("local", walls), 10)) == list(walls)
