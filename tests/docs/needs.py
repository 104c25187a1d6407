"""What blocks of the documentation need of a reader's machine, made for the time of a test: the words of `needs:`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.peers import build
from tests.docs import places
from tests.emulators.e2b_code import E2BCodeEmulator
from tests.servers.openai_server import OpenAIServer, Raw
from tests.servers.replies import SAYS

#: Variables of the environment for a block, while its need is there.
Variables = Mapping[str, str]


def _in_turn(replies: Sequence[str]) -> Callable[[object], str]:
    """One reply after the other, and then the last one again."""
    left = list(replies) or ["42"]
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def openai(replies: Sequence[str]) -> Iterator[Variables]:
    """A server with OpenAI's API, and a key for it; it gives one reply after the other, and then the last one again."""
    with OpenAIServer(reply=_in_turn(replies)) as server:
        yield {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-of-a-test"}


@contextmanager
def anthropic(replies: Sequence[str]) -> Iterator[Variables]:
    """As `openai`, with Anthropic's API."""
    with _other("anthropic", replies) as root:
        yield {"ANTHROPIC_BASE_URL": root, "ANTHROPIC_API_KEY": "sk-ant-of-a-test"}


@contextmanager
def gemini(replies: Sequence[str]) -> Iterator[Variables]:
    """As `openai`, with Gemini's API."""
    with _other("gemini", replies) as root:
        yield {"GOOGLE_GEMINI_BASE_URL": root, "GEMINI_API_KEY": "of-a-test"}


@contextmanager
def azure(replies: Sequence[str]) -> Iterator[Variables]:
    """As `openai`, with a deployment on Azure."""
    with _other("azure_openai", replies) as root:
        yield {"AZURE_OPENAI_ENDPOINT": root, "AZURE_OPENAI_API_KEY": "of-a-test"}


@contextmanager
def portkey(replies: Sequence[str]) -> Iterator[Variables]:
    """As `openai`, with a gateway of Portkey's, whose address and key are the reader's own."""
    with _other("portkey", replies) as root:
        yield {"PORTKEY_GATEWAY": f"{root}/v1", "PORTKEY_API_KEY": "of-a-test"}


@contextmanager
def _other(backend: str, replies: Sequence[str]) -> Iterator[str]:
    """A server of another provider: its address."""
    reply = _in_turn(replies)
    with OpenAIServer(reply=lambda asked: Raw(body=SAYS[backend](reply(asked)))) as server:
        yield server.base_url.removesuffix("/v1")


@contextmanager
def process(replies: Sequence[str]) -> Iterator[Variables]:
    """A Python of its own: nothing has been imported, and the program is a file."""
    yield {}


def packages(name: str) -> Path:
    """Where the packages of a peer are, by its name in benchmarks/peers/versions.toml: pip installs them at the first use."""
    place = build.build(build.recipes()[name], build.folder())
    (found,) = place.python.parents[1].glob("lib/python*/site-packages")
    return found


@contextmanager
def peer(replies: Sequence[str], *, name: str) -> Iterator[Variables]:
    """Another project's package, which is not installed beside ours. A block that needs it needs a process as well."""
    given = os.environ.get("PYTHONPATH")
    yield {"PYTHONPATH": os.pathsep.join([str(packages(name)), *([given] if given else [])])}


@contextmanager
def e2b_code(replies: Sequence[str]) -> Iterator[Variables]:
    """E2B's API, and sandboxes of its template that runs code: emulated, with a real IPython kernel in each."""
    with E2BCodeEmulator(packages("jupyter")) as emulator:
        yield {"E2B_API_KEY": emulator.key, "E2B_API_URL": emulator.url, "E2B_SANDBOX_URL": emulator.url}
        assert emulator.live == [], "the block leaves a sandbox behind, which costs money"


#: Each need, by its word.
NEEDS: dict[str, Callable[[Sequence[str]], AbstractContextManager[Variables]]] = {
    "openai": openai,
    "anthropic": anthropic,
    "gemini": gemini,
    "azure": azure,
    "portkey": portkey,
    "process": process,
    "e2b-code": e2b_code,
    "rlms": partial(peer, name="rlms"),
    "smolagents": partial(peer, name="smolagents"),
    **{each.__name__: each for each in (places.docker, places.e2b, places.daytona, places.prime, places.modal, places.kubernetes)},
}
