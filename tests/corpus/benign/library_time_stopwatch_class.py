import time
from contextlib import ContextDecorator


class stopwatch(ContextDecorator):
    totals = {}

    def __init__(self, label):
        self.label = label

    def __enter__(self):
        self._start = time.perf_counter_ns()
        return self

    def __exit__(self, *exc):
        spent = time.perf_counter_ns() - self._start
        calls, total = self.totals.get(self.label, (0, 0))
        self.totals[self.label] = (calls + 1, total + spent)
        return False


@stopwatch("work")
def work(n):
    return sum(range(n))


print([work(n) for n in (10, 100)])
with stopwatch("loop"):
    for _ in range(3):
        time.sleep(0)
print({label: calls for label, (calls, total) in stopwatch.totals.items()}, all(t >= 0 for _, t in stopwatch.totals.values()))
print(time.process_time() >= 0, isinstance(time.time(), float), time.gmtime(0).tm_year)
