import re

log_re = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})\s+(?P<time>\d{2}:\d{2}:\d{2})\s+(?P<level>[A-Z]+)\s+\[(?P<module>[\w.]+)\]\s+(?P<msg>.*)"
)
rows = []
for line in context.splitlines():
    m = log_re.match(line)
    if m:
        rows.append(m.groupdict())
print(len(rows))
print(rows[0])
print(sorted({row["module"] for row in rows}))
levels = [row["level"] for row in rows]
print({level: levels.count(level) for level in sorted(set(levels))})
