import re
from collections import defaultdict
import statistics as st

per_day = defaultdict(lambda: {"took": [], "bytes": 0, "levels": defaultdict(int)})
for line in context.splitlines():
    m = re.match(r"(\S+) \S+ (\w+) .*took (\d+)ms bytes=(\d+)", line)
    if not m:
        continue
    day, level, took, size = m.group(1), m.group(2), int(m.group(3)), int(m.group(4))
    per_day[day]["took"].append(took)
    per_day[day]["bytes"] += size
    per_day[day]["levels"][level] += 1

for day, info in per_day.items():
    took = info["took"]
    print(f"{day}: n={len(took)} mean={st.mean(took):.1f} median={st.median(took)} stdev={st.stdev(took) if len(took) > 1 else 0:.1f}")
    print(f"{'':>10}  bytes={info['bytes']:_}  levels={dict(sorted(info['levels'].items()))}")
days = list(per_day)
if len(days) >= 2:
    a, b = (st.mean(per_day[d]["took"]) for d in days[:2])
    print(f"change: {(b - a) / a:+.1%}")
