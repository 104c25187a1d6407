import re

outline = []
stack = []
for number, line in enumerate(context.splitlines(), 1):
    if not (m := re.match(r"(#{1,6})\s+(.*)", line)):
        continue
    level, title = len(m[1]), m[2]
    while stack and stack[-1][0] >= level:
        stack.pop()
    stack.append((level, title))
    outline.append((number, " > ".join(t for _, t in stack)))
for number, path in outline:
    print(f"{number:>4}  {path}")
slug = lambda s: re.sub(r"[^a-z0-9]+", "-", s.lower()).strip("-")
print([slug(path.split(" > ")[-1]) for _, path in outline])
