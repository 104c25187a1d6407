"""What a host keeps of the variables of a session: as much as one frame has, and no older value as a whole one."""

from __future__ import annotations

from typing import Any, cast

from rlm_secure.broker.protocol import MAX_NAMES, CellResult, Variable
from rlm_secure.environments.variables import KnownVariables


def result(gone: tuple[str, ...] | None = (), **variables: Variable) -> CellResult:
    return CellResult(variables=variables, gone=gone)


def told(known: KnownVariables, said: CellResult) -> dict[str, Any]:
    known.complete(said)
    assert set(said.variables) == set(said.described.locals) == set(said.described.reprs)
    return cast(dict[str, Any], said.described.locals)


def test_a_host_keeps_as_many_names_as_one_frame_has() -> None:
    known = KnownVariables(10**9)
    for step in range(10):
        names = {f"v{step}_{number}": Variable("int", number, True) for number in range(MAX_NAMES)}
        assert len(told(known, result(**names))) == MAX_NAMES
    assert "v1_0" not in told(known, result(v1_0=Variable("int", 1, True)))
    assert set(told(known, result(None, x=Variable("int", 1, True)))) == {"x"}
    assert told(known, result(("x", "never"))) == {}


def test_a_host_keeps_as_many_bytes_as_one_frame_has() -> None:
    known = KnownVariables(1 << 20)
    for number in range(100):
        names = told(known, result(**{f"v{number}": Variable("str", "x" * 100_000, True)}))
        assert names[f"v{number}"] == "x" * 100_000 or (number > 1 and names[f"v{number}"].startswith("[not kept: "))
    assert sum(map(len, names.values())) < 1 << 20
    assert names["v99"].startswith("[not kept: ")
    assert len(told(known, result(("v0", "v1", "v2"), v99=Variable("str", "y" * 1000, True)))["v99"]) == 1000


def test_a_whole_value_is_that_of_one_result() -> None:
    known = KnownVariables(1 << 20)
    first = result(x=Variable("tuple", [1], True, "(1,)", whole=((1,),)))
    told(known, first)
    assert first.variables["x"].whole == ((1,),) and set(first.described.known) == {"x"}
    second = result(y=Variable("int", 1, True))
    told(known, second)
    assert second.variables["x"] == Variable("tuple", [1], True, "(1,)")
    assert second.described.known == {} and second.described.reprs["x"] == "(1,)"

