"""A supervisor or a worker that lies within the rules: what it says stays within the policy, and typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rlm_secure.errors import ProtocolViolation
from tests.broker import lying
from tests.broker.support import policy


def answering(**fields: Any) -> lying.Change:
    """Each cell's result has these fields."""

    def change(route: str, asked: Mapping[str, Any], answer: Any) -> Any:
        if route == "POST /execute" and asked["op"] == "exec":
            frame = supervisor.frame(lying.done(**fields), asked["nonce"])
            return {**answer, "pending": [frame]}
        return answer

    supervisor = lying.Supervisor()
    return change


# -- what the guest bounds is bounded again ------------------------------------------------------------------


def test_no_supervisor_hands_over_more_than_the_policy_grants() -> None:
    bounded = policy(stdout_bytes=1000, value_bytes=100, result_bytes=1 << 20)
    values = {"x": {"type": "str", "value": "v" * 1000}}
    text = "\u00e9" * 20_000
    said = answering(stdout=text, stderr=text, variables=values, answer={"text": "t", "value": ["v"] * 100_000})
    with lying.session(bounded, said) as session:
        result = session.execute("1", None)
    assert (len(result.stdout.encode()), len(result.stderr.encode())) == (1000, 1000)
    assert not result.variables["x"].has_value
    assert result.answer is not None and result.answer.value is None
    assert result.dropped_bytes > 2 * 39_000 + 1000 + 100_000


@pytest.mark.parametrize(
    "fields",
    [
        {"variables": {f"v{number}": {"type": "int"} for number in range(257)}},
        {"variables": {"x": {"type": "int", "repr": "\u00e9" * 51}}},
        {"stdout": "x" * 5000},
    ],
    ids=["variables", "repr", "frame"],
)
def test_what_no_honest_worker_says_ends_the_session(fields: Mapping[str, Any]) -> None:
    bounded = policy(value_bytes=100, result_bytes=4096) if "variables" not in fields else policy(value_bytes=100)
    with lying.session(bounded, answering(**fields)) as session:
        with pytest.raises(ProtocolViolation):
            session.execute("1", None)
        assert not session.alive
