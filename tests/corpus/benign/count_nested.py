counts = {}
for line in context.splitlines():
    parts = line.split()
    if len(parts) > 4 and parts[2].isupper():
        level, module = parts[2], parts[3].strip("[]")
        counts.setdefault(module, {})
        counts[module][level] = counts[module].get(level, 0) + 1

for module in sorted(counts):
    print(module)
    for level, n in sorted(counts[module].items()):
        print(f"    {level:<8} {n}")
