import heapq
from dataclasses import dataclass, field
from itertools import count

@dataclass(order=True)
class Task:
    priority: int
    number: int
    name: str = field(compare=False)

ids = count()
heap = []
for priority, name in [(3, "low"), (1, "urgent"), (2, "normal"), (1, "urgent too")]:
    heapq.heappush(heap, Task(priority, next(ids), name))
while heap:
    task = heapq.heappop(heap)
    print(task.priority, task.name)
