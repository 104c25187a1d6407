def windows(lines, before=1, after=1, match=lambda line: False):
    """Yield each matching line with its surroundings, as grep -A -B does."""
    last_end = -1
    for i, line in enumerate(lines):
        if match(line):
            start, end = max(0, i - before, last_end + 1), min(len(lines), i + after + 1)
            if start > last_end + 1 and last_end >= 0:
                yield "--"
            for j in range(start, end):
                yield f"{j + 1}{':' if match(lines[j]) else '-'}{lines[j][11:52]}"
            last_end = max(last_end, end - 1)


lines = context.splitlines()
shown = list(windows(lines, 1, 1, lambda l: "status=500" in l and "ERROR" in l))
print(len(shown))
print("\n".join(shown[:9]))
