from functools import cached_property
import statistics


class Sample:
    computed = []

    def __init__(self, values):
        self.values = list(values)

    @cached_property
    def mean(self):
        self.computed.append("mean")
        return statistics.fmean(self.values)

    @cached_property
    def spread(self):
        self.computed.append("spread")
        return statistics.pstdev(self.values, self.mean)

    @property
    def summary(self):
        return f"n={len(self.values)} mean={self.mean:.2f} sd={self.spread:.2f}"


s = Sample([2, 4, 4, 4, 5, 5, 7, 9])
print(s.summary)
print(s.summary, Sample.computed)
s.values.append(100)
print(s.mean, end=" ")
del s.mean
print(round(s.mean, 3), Sample.computed)
print(sorted(vars(s)))
