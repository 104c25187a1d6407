stats = {"lines": 0, "words": 0, "chars": 0, "digits": 0}
for line in context.splitlines():
    stats["lines"] += 1
    stats["words"] += len(line.split())
    stats["chars"] += len(line)
    stats["digits"] += sum(c.isdigit() for c in line)
print(stats)
histogram = [0] * 10
for character in context:
    if character.isdigit():
        histogram[int(character)] += 1
print(histogram)
histogram[2:4] += [0]
print(len(histogram))
