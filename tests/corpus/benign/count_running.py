total = 0
running = []
for value in [3, 1, 4, 1, 5, 9, 2, 6]:
    total += value
    running.append(total)
print(running)
average = total / len(running)
variance = sum((v - average) ** 2 for v in [3, 1, 4, 1, 5, 9, 2, 6]) / len(running)
print(f"{average:.3f} {variance ** 0.5:.3f}")
biggest = None
for value in running:
    if biggest is None or value > biggest:
        biggest = value
print(biggest)
