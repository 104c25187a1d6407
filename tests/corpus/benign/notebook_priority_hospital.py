import heapq
from itertools import count
from collections import namedtuple

Patient = namedtuple("Patient", "name severity arrived")
ticket = count()
queue = []
events = [("in", "Ana", 3, 0), ("in", "Ben", 1, 2), ("out", None, None, 3), ("in", "Cid", 2, 4), ("in", "Dee", 1, 5), ("out",) + (None,) * 2 + (6,), ("out", None, None, 9), ("out", None, None, 12), ("out", None, None, 15)]
waits = {}
for kind, name, severity, t in events:
    if kind == "in":
        heapq.heappush(queue, (severity, next(ticket), Patient(name, severity, t)))
        print(f"t={t:<3} {name} arrives (severity {severity}), {len(queue)} waiting")
    elif not queue:
        print(f"t={t:<3} nobody is waiting")
    else:
        *_, patient = heapq.heappop(queue)
        waits[patient.name] = t - patient.arrived
        print(f"t={t:<3} {patient.name} is seen after {waits[patient.name]} minutes")
mean = sum(waits.values()) / len(waits)
print(f"{mean=:.2f} {max(waits, key=waits.get)=} {len(queue)=}")
