"""What blocks of the documentation need of a reader's machine, made for the time of a test: the words of `needs:`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from tests.docs import places
from tests.servers.openai_server import OpenAIServer

#: Variables of the environment for a block, while its need is there.
Variables = Mapping[str, str]


@contextmanager
def openai(replies: Sequence[str]) -> Iterator[Variables]:
    """A server with OpenAI's API, and a key for it; it gives one reply after the other, and then the last one again."""
    left = list(replies)

    def reply(_: object) -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    with OpenAIServer(reply=reply if replies else "42") as server:
        yield {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-of-a-test"}


@contextmanager
def process(replies: Sequence[str]) -> Iterator[Variables]:
    """A Python of its own: nothing has been imported, and the program is a file."""
    yield {}


#: Each need, by its word.
NEEDS: dict[str, Callable[[Sequence[str]], AbstractContextManager[Variables]]] = {
    "openai": openai,
    "process": process,
    **{each.__name__: each for each in (places.docker, places.e2b, places.daytona, places.prime, places.modal, places.kubernetes)},
}
