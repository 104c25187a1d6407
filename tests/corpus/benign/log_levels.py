levels = {}
for line in context.splitlines():
    for level in ("ERROR", "WARNING", "INFO", "DEBUG"):
        if f" {level} " in line:
            levels[level] = levels.get(level, 0) + 1
            break
total = sum(levels.values())
for level, n in sorted(levels.items(), key=lambda x: x[1], reverse=True):
    print(f"{level:8s} {n:4d} ({100 * n / total:.1f}%)")
