import re

def find_all(text, needle, width=30):
    """Yield (position, excerpt) for each occurrence."""
    start = 0
    while (pos := text.find(needle, start)) != -1:
        left, right = max(0, pos - width), min(len(text), pos + len(needle) + width)
        yield pos, text[left:right].replace("\n", "⏎")
        start = pos + 1

for needle in ("disk cache", "support.example", "unicorn"):
    found = list(find_all(context, needle))
    print(f"{needle!r}: {len(found)} hit(s)")
    for pos, excerpt in found[:2]:
        print(f"    @{pos}: …{excerpt}…")

loose = re.compile(r"time\s*-?\s*outs?", re.IGNORECASE)
print(sorted({m.group().lower() for m in loose.finditer(context)}))
