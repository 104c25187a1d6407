"""An environment of another distribution is held to its walls also after its session was resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.environments import REPL
from rlm_secure.environments.local import LocalEnvironment
from rlm_secure.errors import CellCrashed, EnforcementError
from rlm_secure.guarantees import EnforcementReport, Level, Wall
from rlm_secure.logger import AuditLog
from rlm_secure.policy import Policy, load_policy
from rlm_secure.policy.model import OtherEnvironment

#: Its worker dies of it, so the session is resumed.
DEADLY = "t = ()\nfor i in range(300000): t = (t,)\nhash(t)"


def without(report: EnforcementReport, wall: Wall) -> EnforcementReport:
    walls = (replace(each, level=Level.NONE) if each.wall is wall else each for each in report.walls)
    return replace(report, walls=tuple(walls))


class Elsewhere(LocalEnvironment):
    """Sessions of this machine, under another name; one that is resumed lacks the wall `lost`."""

    name = "elsewhere"

    def __init__(self, lost: Wall | None = None) -> None:
        self._lost = lost

    def open(self, policy: Policy, *, tools: Mapping[str, str] | None = None) -> Any:
        """Start a session. See Environment.open."""
        session: Any = super().open(policy, tools=tools)
        first = session._start

        def start() -> None:
            first()
            if self._lost is not None:
                session.report = without(session.report, self._lost)

        session._start = start
        return session


class Demanding(Elsewhere):
    """One that requires a wall itself."""

    required_walls = (Wall.LANDLOCK,)


def policy(*walls: Wall) -> Policy:
    strict = load_policy("strict")
    others = (OtherEnvironment.model_construct(name="elsewhere", walls=walls),)
    isolation = strict.isolation.model_copy(update={"environments": ("elsewhere",), "others": others})
    return strict.model_copy(update={"isolation": isolation})


def test_a_session_that_is_resumed_with_its_walls_goes_on() -> None:
    with REPL(Demanding(lost=Wall.NETWORK_NAMESPACE), policy=policy(Wall.SECCOMP)) as repl:
        before = repl.report
        repl.execute_code("x = 1")
        assert isinstance(repl.execute_code(DEADLY).error, CellCrashed)
        assert repl.report is not before
        assert repl.locals["x"] == 1


@pytest.mark.parametrize(
    ("kind", "walls", "lost"),
    [(Elsewhere, (Wall.SECCOMP,), Wall.SECCOMP), (Demanding, (), Wall.LANDLOCK)],
    ids=["of the policy", "of its own"],
)
def test_a_cell_in_which_it_is_resumed_without_a_required_wall_ends_it(
    kind: type[Elsewhere], walls: tuple[Wall, ...], lost: Wall, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    with REPL(kind(lost), policy=policy(*walls), audit=AuditLog(path)) as repl:
        repl.execute_code("x = 1")
        with pytest.raises(EnforcementError, match=r"elsewhere: .*; use another environment") as ended:
            repl.execute_code(DEADLY)
        assert ended.value.missing == (lost.value,)
        assert not repl.session.alive
        with pytest.raises(EnforcementError):
            repl.execute_code("x = 2")
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    noted = [(each["violation"], each["wall"]) for each in entries if each["event"] == "violation"]
    assert ("EnforcementError", lost.value) in noted
    assert (entries[-1]["event"], entries[-1]["cells"]) == ("session-end", 2)


REQUESTS: dict[str, Callable[[REPL], object]] = {
    "execute_code": lambda repl: repl.execute_code("1"),
    "locals": lambda repl: repl.locals,
    "read_text": lambda repl: repl.read_text("x"),
    "load_context": lambda repl: repl.load_context("text"),
    "add_history": lambda repl: repl.add_history([]),
    "reset_answer": lambda repl: repl.reset_answer(),
    "append_compaction_entry": lambda repl: repl.append_compaction_entry("entry"),
    "append_compaction_entries": lambda repl: repl.append_compaction_entries(["one", "two"]),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_one_that_was_resumed_in_the_background_gets_no_request(
    request_: Callable[[REPL], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with REPL(Elsewhere(), policy=policy(Wall.SECCOMP), compaction=True) as repl:
        repl.execute_code("x = 1")
        session: Any = repl.session
        reached: list[object] = []
        for name in ("execute", "assign", "alias", "load_context", "read_text"):
            monkeypatch.setattr(session, name, lambda *given, **_: reached.append(given))
        session.report = without(session.report, Wall.SECCOMP)
        with pytest.raises(EnforcementError, match="seccomp"):
            request_(repl)
        assert not reached and not session.alive


def test_one_that_is_opened_without_a_required_wall_is_closed_and_not_logged(tmp_path: Path) -> None:
    opened: list[Any] = []

    class Kept(Elsewhere):
        def open(self, policy: Policy, *, tools: Mapping[str, str] | None = None) -> Any:
            opened.append(super().open(policy, tools=tools))
            return opened[0]

    path = tmp_path / "audit.jsonl"
    with pytest.raises(EnforcementError, match="container"):
        REPL(Kept(), policy=policy(Wall.CONTAINER), audit=AuditLog(path))
    assert not opened[0].alive
    assert not path.exists() or not path.read_text()
