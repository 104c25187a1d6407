from collections import deque
import re

window = deque(maxlen=20)
peaks = []
log = re.findall(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (\w+) ", context, flags=re.MULTILINE)
for day, clock, level in log:
    window.append(level == "ERROR")
    if len(window) == window.maxlen:
        rate = sum(window) / len(window)
        if rate >= 0.2:
            peaks.append((rate, f"{day[-2:]}T{clock}"))
print(f"{len(log)} lines, {len(peaks)} windows at 20 % or more")
if peaks:
    rate, at = max(peaks)
    print(f"worst: {rate:.0%} ending at {at}")
    bars = {}
    for rate, _ in peaks:
        bars[rate] = bars.get(rate, 0) + 1
    for rate in sorted(bars):
        print(f"{rate:.2f} {'#' * bars[rate]}")
