from dataclasses import dataclass
from typing import Iterable, Optional


@dataclass(frozen=True, order=True)
class Interval:
    start: int
    end: int

    def __post_init__(self):
        if self.end < self.start:
            raise ValueError(f"[{self.start}, {self.end}] is reversed")

    def __contains__(self, x: int) -> bool:
        return self.start <= x <= self.end

    def __and__(self, other: "Interval") -> Optional["Interval"]:
        lo, hi = max(self.start, other.start), min(self.end, other.end)
        return Interval(lo, hi) if lo <= hi else None

    def __len__(self) -> int:
        return self.end - self.start + 1

    @staticmethod
    def merge(intervals: Iterable["Interval"]) -> list["Interval"]:
        merged: list[Interval] = []
        for each in sorted(intervals):
            if merged and each.start <= merged[-1].end + 1:
                merged[-1] = Interval(merged[-1].start, max(merged[-1].end, each.end))
            else:
                merged.append(each)
        return merged


spans = [Interval(8, 10), Interval(1, 3), Interval(2, 6), Interval(15, 18), Interval(17, 20)]
print(*Interval.merge(spans), sep="\n")
print(Interval(1, 5) & Interval(4, 9), Interval(1, 2) & Interval(3, 4), 4 in Interval(1, 5), len(spans[0]))
try:
    spans[0].start = 0
except AttributeError as e:
    print(type(e).__name__, "-", e)
try:
    Interval(5, 1)
except ValueError as e:
    print(e)
print(len(set(spans + [Interval(1, 3)])))
