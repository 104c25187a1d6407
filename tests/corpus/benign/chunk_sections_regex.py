import re

# Sections begin with a markdown heading.
pattern = re.compile(r"^(#{1,3})\s+(.*)$", re.MULTILINE)
positions = [(m.start(), len(m.group(1)), m.group(2)) for m in pattern.finditer(context)]
sections = {}
for i, (start, level, title) in enumerate(positions):
    end = positions[i + 1][0] if i + 1 < len(positions) else len(context)
    sections[title] = (level, context[start:end])

for title, (level, body) in sections.items():
    print("  " * (level - 1) + f"- {title}: {len(body)} chars, {body.count(chr(10))} lines")
