"""graphlib."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["CycleError", "TopologicalSorter"]
LEFT_OUT: dict[str, str] = {}

_OUT, _DONE = -1, -2  # states of a node; from 0 up, it is how many nodes it waits for


class CycleError(ValueError):
    pass


class TopologicalSorter:
    def __init__(self, graph: Any = None) -> None:
        self._waits: dict[Any, int] = {}
        self._after: dict[Any, list[Any]] = {}
        self._ready: list[Any] | None = None
        self._out = self._finished = 0
        if graph is not None:
            for node, before in graph.items():
                self.add(node, *before)

    def _known(self, node: Any) -> None:
        if node not in self._waits:
            self._waits[node] = 0
            self._after[node] = []

    def add(self, node: Any, *predecessors: Any) -> None:
        if self._ready is not None:
            raise ValueError("Nodes cannot be added after a call to prepare()")
        self._known(node)
        self._waits[node] += len(predecessors)
        for each in predecessors:
            self._known(each)
            self._after[each].append(node)

    def prepare(self) -> None:
        if self._ready is not None:
            raise ValueError("cannot prepare() more than once")
        self._ready = [node for node, count in self._waits.items() if count == 0]
        if cycle := self._cycle():
            raise CycleError("nodes are in a cycle", cycle)

    def get_ready(self) -> tuple[Any, ...]:
        if self._ready is None:
            raise ValueError("prepare() must be called first")
        ready, self._ready = tuple(self._ready), []
        for node in ready:
            self._waits[node] = _OUT
        self._out += len(ready)
        return ready

    def is_active(self) -> bool:
        if self._ready is None:
            raise ValueError("prepare() must be called first")
        return self._finished < self._out or bool(self._ready)

    def __bool__(self) -> bool:
        return self.is_active()

    def done(self, *nodes: Any) -> None:
        if self._ready is None:
            raise ValueError("prepare() must be called first")
        for node in nodes:
            state = self._waits.get(node)
            if state is None:
                raise ValueError(f"node {node!r} was not added using add()")
            if state == _DONE:
                raise ValueError(f"node {node!r} was already marked done")
            if state != _OUT:
                raise ValueError(f"node {node!r} was not passed out (still not ready)")
            self._waits[node] = _DONE
            self._finished += 1
            for each in self._after[node]:
                self._waits[each] -= 1
                if self._waits[each] == 0:
                    self._ready.append(each)

    def static_order(self) -> Iterable[Any]:
        self.prepare()
        return self._in_order()

    def _in_order(self) -> Iterator[Any]:
        while self.is_active():
            nodes = self.get_ready()
            yield from nodes
            self.done(*nodes)

    def _cycle(self) -> list[Any] | None:
        finished: set[Any] = set()
        for start in self._waits:
            path: list[Any] = []
            places: dict[Any, int] = {}
            todo = [(start, iter(self._after[start]))] if start not in finished else []
            if todo:
                places[start] = 0
                path.append(start)
            while todo:
                node, following = todo[-1]
                for each in following:
                    if each in places:
                        return [*path[places[each] :], each]
                    if each not in finished:
                        places[each] = len(path)
                        path.append(each)
                        todo.append((each, iter(self._after[each])))
                        break
                else:
                    todo.pop()
                    path.pop()
                    del places[node]
                    finished.add(node)
        return None
