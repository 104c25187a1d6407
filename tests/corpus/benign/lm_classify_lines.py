lines = [l for l in context.splitlines() if " ERROR " in l or " WARNING " in l][:6]
labels = llm_query_batched([f"Classify as network/disk/other: {line}" for line in lines])
tally = {}
for line, label in zip(lines, labels):
    tally.setdefault(label, []).append(line[:19])
for label, stamps in tally.items():
    print(label, len(stamps), stamps[0])
