import random
from collections import deque

random.seed(12)


class Customer:
    def __init__(self, ident, minute):
        self.ident, self.arrived = ident, minute
        self.needs = random.randint(1, 3)

    def __repr__(self):
        return f"C{self.ident}"


line, served, busy_until, current = deque(), [], 0, None
left = 0
for minute in range(60):
    if random.random() < 0.45:
        customer = Customer(len(served) + len(line) + left + (current is not None), minute)
        if len(line) < 4:
            line.append(customer)
        else:
            left += 1
    if current and minute >= busy_until:
        served.append((current, minute - current.arrived))
        current = None
    if current is None and line:
        current = line.popleft()
        busy_until = minute + current.needs
waits = [w for _, w in served]
print(f"served {len(served)}, left {left}, waiting {len(line)}")
print(f"longest {max(waits)}, mean {sum(waits) / len(waits):.2f}")
for bucket in range(0, max(waits) + 1, 2):
    n = sum(bucket <= w < bucket + 2 for w in waits)
    print(f"{bucket:>2}-{bucket + 1:<2} {'o' * n}")
