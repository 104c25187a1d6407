import heapq
import itertools


class Scheduler:
    def __init__(self):
        self.now = 0
        self._queue = []
        self._tie = itertools.count()

    def after(self, delay, action, *args, **kwargs):
        heapq.heappush(self._queue, (self.now + delay, next(self._tie), action, args, kwargs))

    def run(self, until=float("inf")):
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action, args, kwargs = heapq.heappop(self._queue)
            action(*args, **kwargs)


s = Scheduler()
waiting, served = [], []


def arrive(name, every, left):
    waiting.append((name, s.now))
    print(f"{s.now:>3} arrive {name}")
    if left > 1:
        s.after(every, arrive, name[0] + str(int(name[1:]) + 1), every, left=left - 1)


def serve():
    if waiting:
        name, since = waiting.pop(0)
        served.append(s.now - since)
        print(f"{s.now:>3} serve  {name} after {s.now - since}")
    s.after(4, serve)


s.after(0, arrive, "a1", 3, left=4)
s.after(1, arrive, "b1", 5, left=2)
s.after(2, serve)
s.run(until=26)
print(f"served {len(served)}, mean wait {sum(served) / len(served):.2f}, still waiting {waiting}")
