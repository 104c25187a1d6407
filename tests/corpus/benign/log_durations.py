import re
from statistics import mean, median
durations = [int(x) for x in re.findall(r"took (\d+)ms", context)]
print(len(durations), "requests")
if durations:
    print("mean", round(mean(durations), 2), "median", median(durations))
    durations.sort()
    for p in (50, 90, 99):
        k = min(len(durations) - 1, int(len(durations) * p / 100))
        print(f"p{p}: {durations[k]} ms")
