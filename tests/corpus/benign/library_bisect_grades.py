import bisect
from operator import itemgetter


def grade(score, breakpoints=(60, 70, 80, 90), grades="FDCBA"):
    return grades[bisect.bisect(breakpoints, score)]


print([grade(s) for s in (33, 99, 77, 70, 89, 90, 100)])
scores = []
for s in (50, 20, 70, 20, 90):
    bisect.insort(scores, s)
print(scores, bisect.bisect_left(scores, 20), bisect.bisect_right(scores, 20))
tariff = [(0, 0.10), (100, 0.08), (500, 0.05)]
for amount in (0, 99, 100, 750):
    i = bisect.bisect_right(tariff, amount, key=itemgetter(0)) - 1
    print(f"{amount:>4} at {tariff[i][1]:.0%} = {amount * tariff[i][1]:.2f}")
timeline = ["2024-01-01", "2024-03-15", "2024-07-01"]
where = bisect.bisect(timeline, "2024-04-01")
print(timeline[where - 1] if where else None, len(timeline) - where)
