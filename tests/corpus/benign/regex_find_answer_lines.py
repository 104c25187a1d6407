import re
candidates = []
for number, line in enumerate(context.splitlines(), 1):
    if re.search(r"\b(error|failed|timeout)\b", line, re.IGNORECASE):
        candidates.append((number, line.strip()))
print(f"{len(candidates)} candidate lines")
for number, line in candidates[:5]:
    print(f"{number:4d} | {line[:70]}")
by_hour = {}
for _, line in candidates:
    m = re.search(r" (\d{2}):\d{2}:\d{2} ", line)
    if m:
        by_hour[m.group(1)] = by_hour.get(m.group(1), 0) + 1
print(dict(sorted(by_hour.items())))
