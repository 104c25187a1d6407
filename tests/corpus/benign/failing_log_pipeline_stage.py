import re
from collections import Counter


def read(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("2024"):
            yield number, line


def parse(lines):
    for number, line in lines:
        m = re.search(r"took (\d+)ms bytes=(\d+)", line)
        yield number, int(m[1]), int(m[2])


def rates(rows):
    for number, ms, size in rows:
        yield number, size / (ms - 3)


counts = Counter()
try:
    for number, rate in rates(parse(read(context + "\n2024-05-03 00:00:00 INFO took 3ms bytes=10"))):
        counts["fast" if rate > 50 else "slow"] += 1
finally:
    print(sorted(counts.items()))
print("not reached")
