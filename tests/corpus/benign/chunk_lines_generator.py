def batches(items, n):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == n:
            yield batch
            batch = []
    if batch:
        yield batch

lines = context.splitlines()
sizes = [len(batch) for batch in batches(lines, 40)]
print(sum(sizes) == len(lines), len(sizes), sizes[-1])
for number, batch in enumerate(batches(lines, 100), start=1):
    longest = max(batch, key=len)
    print(number, len(longest), longest[:60])
