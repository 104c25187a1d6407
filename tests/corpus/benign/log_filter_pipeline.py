lines = context.splitlines()
pipeline = [
    lambda l: l.strip(),
    lambda l: l if " ERROR " in l or " WARNING " in l else None,
    lambda l: l[20:],
    lambda l: l.upper(),
]
survivors = []
for line in lines:
    for step in pipeline:
        line = step(line)
        if not line:
            break
    else:
        survivors.append(line)
print(len(survivors))
print("\n".join(survivors[:3]))
