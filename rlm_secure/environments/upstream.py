"""Upstream's environment classes by name: LocalREPL, DockerREPL, ModalREPL, DaytonaREPL, PrimeREPL, E2BREPL.

For programs that make an environment themselves. What differs, and why:
- `lm_handler_address` takes the handler (`LMHandler.address` gives it) or any callable of a Call: there is no
  unauthenticated TCP port to connect to.
- `locals` of a result hold JSON values and safe reprs, never live objects of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rlm_secure.broker.protocol import Call
from rlm_secure.environments.interface import Audit, HostCalls
from rlm_secure.environments.registry import place
from rlm_secure.environments.repl import REPL
from rlm_secure.policy.model import Policy


class _Named(REPL):
    """A REPL in the place that `place` names; `options` go to it."""

    place: ClassVar[str]

    def __init__(
        self,
        lm_handler_address: HostCalls | None = None,
        context_payload: Any = None,
        setup_code: str | None = None,
        persistent: bool = False,
        depth: int = 1,
        subcall_fn: Callable[..., Any] | None = None,
        custom_tools: Mapping[str, Any] | None = None,
        custom_sub_tools: Mapping[str, Any] | None = None,
        compaction: bool = False,
        max_concurrent_subcalls: int = 4,
        *,
        policy: Policy | str | Mapping[str, Any] = "strict",
        audit: Audit | None = None,
        **options: Any,
    ) -> None:
        if lm_handler_address is not None and not callable(lm_handler_address):
            raise TypeError(
                f"lm_handler_address is the handler itself (LMHandler.address), not {lm_handler_address!r}: there is "
                "no TCP port to connect to"
            )
        super().__init__(
            place(self.place, **options),
            policy=policy,
            calls=_Calls(lm_handler_address, subcall_fn),
            context_payload=context_payload,
            setup_code=setup_code,
            persistent=persistent,
            depth=depth,
            custom_tools=custom_tools,
            custom_sub_tools=custom_sub_tools,
            compaction=compaction,
            max_concurrent_subcalls=max_concurrent_subcalls,
            audit=audit,
        )

    def setup(self) -> None:
        """Nothing: the constructor did it. Upstream's callers may call it again."""

    def update_handler_address(self, lm_handler_address: HostCalls) -> None:
        """Serve the model calls of later cells by another handler."""
        calls = self.calls
        assert isinstance(calls, _Calls)
        calls.handler = lm_handler_address


class _Calls:
    """Upstream's two ways out of a cell as one HostCalls."""

    def __init__(self, handler: HostCalls | None, subcall_fn: Callable[..., Any] | None) -> None:
        self.handler = handler
        self._subcall_fn = subcall_fn
        self._made: list[Any] = []

    def __call__(self, call: Call) -> Any:
        if call.kind.startswith("rlm") and self._subcall_fn is not None:
            made = [self._subcall_fn(prompt, call.model) for prompt in call.prompts]
            self._made += made
            texts = [each.response for each in made]
            return texts if call.kind.endswith("_batched") else texts[0]
        if self.handler is None:
            text = "Error: No LM handler configured"
            return [text] * len(call.prompts) if call.kind.endswith("_batched") else text
        return self.handler(call)

    def drain(self) -> list[Any]:
        """The model calls of the last cell, where who made them keeps them."""
        made, self._made = self._made, []
        drain = getattr(self.handler, "drain", None)
        return made + (drain() if drain else [])


class LocalREPL(_Named):
    """Cells in a sealed process on this machine."""

    place = "local"


class DockerREPL(_Named):
    """Cells in a container. `image` and the other options are those of the Docker environment."""

    place = "docker"


class ModalREPL(_Named):
    """Cells in a Modal sandbox."""

    place = "modal"


class DaytonaREPL(_Named):
    """Cells in a Daytona sandbox."""

    place = "daytona"


class PrimeREPL(_Named):
    """Cells in a Prime Intellect sandbox."""

    place = "prime"


class E2BREPL(_Named):
    """Cells in an E2B sandbox."""

    place = "e2b"
