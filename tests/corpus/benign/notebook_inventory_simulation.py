import random
from collections import Counter, deque

random.seed(99)
stock, on_order, log = 40, deque(), Counter()
history = []
for day in range(1, 31):
    while on_order and on_order[0][0] == day:
        stock += on_order.popleft()[1]
        log["deliveries"] += 1
    demand = max(0, round(random.gauss(7, 3)))
    sold = min(stock, demand)
    stock -= sold
    log["sold"] += sold
    log["lost"] += demand - sold
    if stock + sum(q for _, q in on_order) < 25:
        on_order.append((day + random.choice([3, 4, 4]) if not on_order else max(day + 3, on_order[-1][0]), 30))
        log["orders"] += 1
    history.append(stock)

print(dict(log))
for week in range(0, 30, 7):
    part = history[week:week + 7]
    print(f"day {week + 1:>2}: " + " ".join(f"{s:>3}" for s in part) + f"   avg {sum(part) / len(part):5.1f}")
sparks = "▁▂▃▄▅▆▇█"
print("".join(sparks[min(7, s * 8 // (max(history) + 1))] for s in history))
print("service level", f"{log['sold'] / (log['sold'] + log['lost']):.1%}")
