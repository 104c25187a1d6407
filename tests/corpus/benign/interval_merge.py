def merge(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged

print(merge([(1, 3), (8, 10), (2, 6), (15, 18), (17, 20)]))
free, cursor = [], 0
for start, end in merge([(2, 4), (6, 9)]):
    if start > cursor:
        free.append((cursor, start))
    cursor = end
print(free + [(cursor, 12)])
