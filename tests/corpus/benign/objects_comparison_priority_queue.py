import heapq
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True)
class Job:
    priority: int
    sequence: int
    payload: Any = field(compare=False)


class PriorityQueue:
    def __init__(self):
        self._heap: list[Job] = []
        self._count = 0

    def push(self, payload, priority=0):
        heapq.heappush(self._heap, Job(priority, self._count, payload))
        self._count += 1

    def __iter__(self):
        while self._heap:
            yield heapq.heappop(self._heap)

    def __bool__(self):
        return bool(self._heap)


q = PriorityQueue()
for payload, priority in [({"do": "mail"}, 5), ("call", 1), (None, 5), (["list"], 3), ("pay", 1)]:
    q.push(payload, priority)
for job in q:
    print(job.priority, job.payload)
print(bool(q), Job(1, 0, "a") < Job(1, 1, "b"), Job(1, 1, "a") == Job(1, 1, "b"))
