"""Large contexts that several prompts of a batch share, in Ray's object store: each is put there once.

Where cells are behind the local walls it is there as the bytes of a context, and a node writes one sealed memfd from
the store's pages for all of its prompts: no process of the node decodes it. The pages themselves are no context of a
cell, for they are not sealed, and the store's descriptor is that of everything in it. The RunCompleted of such a prompt
names the size of the context, without it.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pickle import PickleBuffer
from typing import Any, Final

from rlm_secure.environments.context import Flat, flatten
from rlm_secure.policy import Gate
from rlm_secure.rlm.batch import Batch
from rlm_secure.rlm.rlm import RLM
from rlm_secure.types import QueryMetadata, held_bytes

#: Bytes from which a context that several prompts share is put into the object store.
_LARGE: Final = 64 * 1024


class SharedContexts:
    """The driver's side."""

    def __init__(self, ray: Any, rlm: RLM[Any], batch: Batch) -> None:
        self._ray = ray
        self._rlm = rlm
        self._prompts = batch.prompts
        same = Counter(id(batch.prompts[index]) for index in batch.todo)
        self._shared = {each for each, count in same.items() if count > 1}
        self._stored: dict[int, tuple[int, list[Any]] | None] = {}

    def stored(self, index: int, prompt: Any) -> tuple[int, list[Any]] | None:
        """The number and the place in the object store of the context `prompt`, if others have it and it is large.

        Raises what a run raises for a context that it cannot have.
        """
        key = id(self._prompts[index])
        if key in self._shared and key not in self._stored:
            self._stored[key] = (key, self._put(prompt)) if held_bytes(prompt, _LARGE) > _LARGE else None
        return self._stored.get(key)

    def _put(self, prompt: Any) -> list[Any]:
        """Put a context into the object store; for cells that get it as a sealed memfd, its bytes."""
        if self._rlm.environment_type != "local" or self._rlm.depth >= self._rlm.max_depth:
            return [self._ray.put(prompt), False]
        facts, flat = QueryMetadata(prompt), flatten(prompt, Gate(self._rlm.policy))
        return [self._ray.put((flat.kind, PickleBuffer(flat.view), flat.width, flat.length, facts)), True]


def fetched(place: list[Any]) -> Any:
    """What is at a place: a context, or its bytes, which are not copied from the store's pages. On a node."""
    stored, is_flat = place
    found = import_module("ray").get(stored)
    if not is_flat:
        return found
    kind, data, *others = found
    return Flat(kind, memoryview(data), *others)
