"""What type checkers say of programs that use the library: the examples, and what a user's signature can rely on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Sandboxes of others, which nobody has installed who only wants to check the examples.
FOREIGN = ("jupyter_client", "pydantic_monty", "smolagents")

RIGHT = '''\
from collections.abc import Generator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, assert_type

from pydantic import BaseModel, TypeAdapter

import rlm_secure
from rlm_secure import RLM, ClientBackend, EnvironmentType, Event, Item, REPLResult, RLMChatCompletion, Sandbox


class City(BaseModel):
    name: str


assert_type(RLM(answer_schema=City).completion("").parsed, City)
assert_type(RLM(answer_schema=list[City]).completion("").parsed, list[City])
assert_type(RLM(answer_schema=TypeAdapter(dict[str, int])).completion("").parsed, dict[str, int])
assert_type(RLM(answer_schema={"type": "object"}).completion("").parsed, Any)
assert_type(RLM().completion("").parsed, Any)
assert_type(RLM[City | None](answer_schema=TypeAdapter(City | None)).completion("").parsed, City | None)
assert_type(RLM(answer_schema=City).batch([""]), list[Item[City]])
assert_type(RLM(answer_schema=City).batch_as_completed([""]), Generator[Item[City], None, None])
completion = RLM(answer_schema=City).batch([""])[0].completion
assert completion is not None
assert_type(completion.parsed, City)


async def several() -> None:
    async with RLM(answer_schema=City) as rlm:
        assert_type(await rlm.acompletion(""), RLMChatCompletion[City])
        assert_type(await rlm.abatch([""]), list[Item[City]])
        async with aclosing(rlm.abatch_as_completed([""])) as items:
            assert_type([item async for item in items], list[Item[City]])


def plain(rlm: RLM, backend: ClientBackend, environment: EnvironmentType, named: str) -> None:
    """A type argument is never required."""
    RLM(backend=backend, environment=environment, other_backends=[backend])
    RLM(backend=named, environment=named, other_backends=[named])
    for event in rlm.stream(""):
        assert_type(event, Event)


with Sandbox(context=Path("a.txt")) as sandbox:
    assert_type(sandbox.run(""), REPLResult)
'''

WRONG = '''\
from rlm_secure import RLM, ClientBackend

number: int = RLM(answer_schema=str).completion("").parsed
backend: ClientBackend = "opnai"
RLM(answer_schema=3)
'''


def mypy(*paths: Path) -> list[str]:
    """The errors of `mypy --strict`, each a line."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def pyright(*paths: Path) -> list[str]:
    """The errors of pyright, each a line."""
    pytest.importorskip("pyright")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] == len(paths)
    return [
        f"{each['file']}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in told["generalDiagnostics"]
        if each["severity"] == "error" and not any(f'Import "{name}' in each["message"] for name in FOREIGN)
    ]


@dataclass(frozen=True)
class Checked:
    """What one run of a checker said of everything: each would read the library and its dependencies anew."""

    examples: list[str]
    right: list[str]
    wrong: list[str]


@pytest.fixture(scope="module", params=[mypy, pyright])
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    cells = ROOT / "examples" / "ci" / "attacks"  # have names that the arena gives them
    programs = [path for path in sorted((ROOT / "examples").rglob("*.py")) if cells not in path.parents]
    folder = tmp_path_factory.mktemp("programs")
    right, wrong = folder / "right.py", folder / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(WRONG)
    said = request.param(*programs, right, wrong)
    # By name: an error that mypy has kept from an earlier run has the folder of that run.
    own = {path: [line for line in said if Path(line.split(":")[0]).name == path.name] for path in (right, wrong)}
    return Checked([line for line in said if line not in own[right] + own[wrong]], own[right], own[wrong])


def test_the_examples_have_no_errors(checked: Checked) -> None:
    assert checked.examples == []


def test_types_are_inferred_as_the_docstrings_say(checked: Checked) -> None:
    assert checked.right == []


def test_a_wrong_program_has_an_error_in_each_line(checked: Checked) -> None:
    assert {int(line.split(":")[1]) for line in checked.wrong} == {3, 4, 5}
