"""One session under gVisor's runsc: another kernel, the same guest, the same protocol over the exec stream."""

from __future__ import annotations

from rlm_secure import CellTimeout
from rlm_secure.guarantees import Level, Wall
from tests.docker.conftest import tightened


def test_a_session_runs_under_gvisor_and_says_what_its_kernel_lacks(place) -> None:
    with place.session(tightened("runsc", start_seconds=120.0)) as session:
        assert session.report.details["transport"] == "exec"
        assert session.report.details["kernel"] == "4.4.0"
        assert session.report[Wall.CONTAINER].level is Level.FULL
        assert session.report[Wall.SECCOMP].level is Level.FULL
        assert session.report[Wall.LANDLOCK].level is Level.NONE
        assert session.report[Wall.RLIMITS].level is Level.FULL
        session.load_context("context_0", "deep " * 200_000)
        code = "print(len(context_0), llm_query('x'))"
        assert session.execute(code, lambda call: "answered").stdout == "1000000 answered\n"
        result = session.execute("while True: pass", None, seconds=1.0)
        assert isinstance(result.error, CellTimeout)
        assert session.execute("print(len(context_0))", None).stdout == "1000000\n"
