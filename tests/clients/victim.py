"""Calls one provider through a real SDK, and says what each call took: run as a program, by test_hostile_provider.py.

    python -m tests.clients.victim ADDRESS all|few BACKEND...

writes one JSON line for each backend, deed and way: its error, whether that is retryable, the seconds, and by how many
bytes the process grew at most, where it did one thing at a time.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rlm_secure.clients import Client, Completion, get_client
from rlm_secure.errors import ProviderError
from tests.clients.hostile import FITS, LARGE, SLOW

#: lm.timeout_seconds for what lasts until it is ended, and for what ends by itself.
SLOW_SECONDS = 0.8
LARGE_SECONDS = 4.0
#: For a backend that goes over the same SDK as another.
FEW = ("gzip-bomb", "endless-body", "million-answers", "endless-interim-replies")


def client_of(backend: str, address: str, **kwargs: Any) -> Client:
    """A client of `backend` whose provider listens at `address`."""
    where: dict[str, Any] = {
        "openai": {"base_url": f"{address}/v1"},
        "anthropic": {"base_url": address},
        "gemini": {"base_url": address},
        "azure_openai": {"azure_endpoint": address, "azure_deployment": "d"},
        "portkey": {"base_url": f"{address}/v1"},
        "litellm": {"api_base": f"{address}/v1", "model_name": "openai/m"},
        "litellm-anthropic": {"api_base": address, "model_name": "anthropic/m"},
    }[backend]
    client = get_client(backend.partition("-")[0], {"api_key": "k" * 20, "model_name": "m", **where, **kwargs})
    assert isinstance(client, Client)
    return client


def called(call: Callable[[], Completion]) -> dict[str, Any]:
    """What became of one call."""
    began = time.monotonic()
    said: dict[str, Any] = {"error": None, "retryable": False}
    try:
        call()
    except ProviderError as error:
        said |= {"error": str(error), "retryable": error.retryable}
    except Exception as error:
        said["error"] = f"untyped {type(error).__name__}"
    return said | {"seconds": time.monotonic() - began}


def measured(call: Callable[[], Completion]) -> dict[str, Any]:
    """As called(), with the memory that the process took for it."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS:")
    return {**called(call), "memory": _status("VmHWM:") - before}


def _status(name: str) -> int:
    line = next(each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(name))
    return int(line.split()[1]) * 1024


def main(address: str, few: str, *backends: str) -> None:
    for backend in backends:
        large = FEW if few == "few" else (*LARGE, *FITS)
        slow = ("drip", "come-again-soon") if few == "few" else tuple(SLOW)
        blocking, awaited = (client_of(backend, address, max_retries=0) for _ in range(2))
        with asyncio.Runner() as runner, ThreadPoolExecutor(len(slow)) as pool:
            # The first call imports the SDK, which is no reply's memory.
            called(lambda: blocking.complete("deed: ok"))
            called(lambda: runner.run(awaited.acomplete("deed: ok")))
            gc.collect()
            gc.freeze()  # an SDK is thousands of classes, which each collection would look through
            for deed in ("ok", *large):
                ask = functools.partial(blocking.complete, f"deed: {deed}", timeout=LARGE_SECONDS)
                tell(backend, deed, "blocking", measured(ask))
                aask = functools.partial(awaited.acomplete, f"deed: {deed}", timeout=LARGE_SECONDS)
                tell(backend, deed, "awaited", measured(lambda aask=aask: runner.run(aask())))
            blocking.retries = awaited.retries = 1000
            asks = [functools.partial(blocking.complete, f"deed: {deed}", timeout=SLOW_SECONDS) for deed in slow]
            for deed, said in zip(slow, pool.map(called, asks), strict=True):
                tell(backend, deed, "blocking", said)
            for deed, said in zip(slow, runner.run(together(awaited, slow)), strict=True):
                tell(backend, deed, "awaited", said)


async def together(client: Client, deeds: Sequence[str]) -> list[dict[str, Any]]:
    """What became of one call for each of `deeds`, all on the running event loop."""

    async def one(deed: str) -> dict[str, Any]:
        began = time.monotonic()
        error: BaseException | None = None
        try:
            await client.acomplete(f"deed: {deed}", timeout=SLOW_SECONDS)
        except Exception as raised:
            error = raised

        def again() -> Any:
            if error is not None:
                raise error

        return {**called(again), "seconds": time.monotonic() - began}

    try:
        return await asyncio.gather(*map(one, deeds))
    finally:
        await client.aclose()


def tell(backend: str, deed: str, way: str, said: dict[str, Any]) -> None:
    """One line for the test."""
    print(json.dumps({"backend": backend, "deed": deed, "way": way, **said}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
