paragraphs = [p.strip() for p in context.split("\n\n") if p.strip()]
print("paragraphs:", len(paragraphs))

groups, current, size = [], [], 0
for paragraph in paragraphs:
    if size + len(paragraph) > 800 and current:
        groups.append("\n\n".join(current))
        current, size = [], 0
    current.append(paragraph)
    size += len(paragraph)
if current:
    groups.append("\n\n".join(current))

for index, group in enumerate(groups):
    print(f"group {index}: {len(group):>5} chars, starts with {group[:25]!r}")
