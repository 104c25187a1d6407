import re
from collections import deque


def grep(pattern, text, before=2, ignore_case=False, max_count=None):
    regex = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    recent = deque(maxlen=before)
    found = 0
    for number, line in enumerate(text.splitlines(), 1):
        if m := regex.search(line):
            yield number, line[: m.start()] + "«" + m.group() + "»" + line[m.end():], list(recent)
            found += 1
            if max_count and found >= max_count:
                return
        recent.append(line)


for number, line, recent in grep(r"after timeout of [7-9]s", context, max_count=3):
    for offset, earlier in enumerate(recent):
        print(f"  {number - len(recent) + offset}- {earlier[:50]}")
    print(f"> {number}: {line[:75]}")
print(sum(1 for _ in grep("WARNING", context)), sum(1 for _ in grep("warning", context, ignore_case=True)))
