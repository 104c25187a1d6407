import re
from collections import defaultdict

took = defaultdict(list)
for action, ms in re.findall(r"action=(\w+) status=\d+ took (\d+)ms", context):
    took[action].append(int(ms))


def percentile(values, p):
    values = sorted(values)
    k = (len(values) - 1) * p / 100
    low, high = int(k), min(int(k) + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (k - low)


print(f"{'action':<10}{'n':>5}{'p50':>8}{'p90':>8}{'p99':>8}{'max':>6}")
for action, values in sorted(took.items()):
    p50, p90, p99 = (percentile(values, p) for p in (50, 90, 99))
    print(f"{action:<10}{len(values):>5}{p50:>8.1f}{p90:>8.1f}{p99:>8.1f}{max(values):>6}")

buckets = [0] * 10
for v in (v for values in took.values() for v in values):
    buckets[min(v // 100, 9)] += 1
for i, n in enumerate(buckets):
    print(f"{i * 100:>4}-{i * 100 + 99:<4}{'▇' * (n // 2)} {n}" if n else f"{i * 100:>4}-{i * 100 + 99}")
