import re
from collections import Counter, defaultdict

levels = Counter()
by_module = defaultdict(Counter)
pattern = re.compile(r"^(\S+ \S+) (INFO|DEBUG|WARNING|ERROR) \[([\w.]+)\]")

for line in context.splitlines():
    match = pattern.match(line)
    if match is None:
        continue
    _, level, module = match.groups()
    levels[level] += 1
    by_module[module][level] += 1

print(levels.most_common())
total = sum(levels.values())
for module in sorted(by_module):
    counts = by_module[module]
    print(f"{module:<14}", " ".join(f"{level}={counts[level]:>3}" for level in ("INFO", "DEBUG", "WARNING", "ERROR")))
print(f"error share: {levels['ERROR'] / total:.2%} of {levels.total()}")
