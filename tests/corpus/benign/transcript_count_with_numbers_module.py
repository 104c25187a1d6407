import re
from collections import Counter
from fractions import Fraction
from decimal import Decimal

statuses = Counter(re.findall(r"status=(\d+)", context))
total = statuses.total()
for status, n in sorted(statuses.items()):
    share = Fraction(n, total)
    print(status, n, share, f"{float(share):.4f}", Decimal(n) / Decimal(total) == Decimal(share.numerator) / Decimal(share.denominator))
print(sum(Fraction(n, total) for n in statuses.values()), total)
sizes = [int(b) for b in re.findall(r"bytes=(\d+)", context)]
units = ["B", "KiB", "MiB"]


def human(n):
    for unit in units:
        if n < 1024 or unit == units[-1]:
            return f"{n:.1f} {unit}"
        n /= 1024


print(human(sum(sizes)), human(max(sizes)), human(5), human(5 * 2 ** 20))
