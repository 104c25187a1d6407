"""A session without the language layer, for attacking the walls behind it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rlm_secure.broker.protocol import Call
from rlm_secure.environments.interface import CallFailed, Session
from rlm_secure.environments.local import machine
from rlm_secure.environments.repl import to_repl_result
from rlm_secure.guarantees import EnforcementReport, Wall
from rlm_secure.policy import Policy, load_policy
from rlm_secure.types import REPLResult

if TYPE_CHECKING:
    from rlm_secure.environments.local.zygote import Plan


class Unscreened:
    """A session whose cells are plain Python with full builtins, behind the same OS walls. Created by `unscreened`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def report(self) -> EnforcementReport:
        """The walls in force; the language layer is not one of them."""
        return self._session.report

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell of plain Python."""
        return to_repl_result(self._session.execute(code, _no_host, seconds=timeout), [])

    def close(self) -> None:
        """End the session. Idempotent."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def unscreened(
    environment: str = "local",
    policy: Policy | str | Mapping[str, Any] = "strict",
    *,
    plan: Plan | None = None,
    required: tuple[Wall, ...] | None = None,
) -> Unscreened:
    """Open a session like Sandbox's without the language layer, for attacking the OS walls alone.

    `plan` switches single walls off, for controls; `required` then names the walls that must still be in force.
    Neither `RLM` nor a policy file can reach this function.
    """
    if environment != "local":
        raise ValueError(f"unscreened sessions exist in: local; not in {environment!r}")
    machine.require()
    from rlm_secure.environments.local.session import open_session  # cannot be imported where that raises

    loaded = load_policy(policy)
    if plan is not None and required is None:
        required = ()
    return Unscreened(open_session(loaded, plan=plan, screen=False, required=required))


def _no_host(call: Call) -> Any:
    raise CallFailed(f"{call.kind} is not available in an unscreened session")
