import heapq
import random

random.seed(2024)
streams = [sorted(random.randint(0, 99) for _ in range(5)) for _ in range(3)]
for s in streams:
    print(s)
print(list(heapq.merge(*streams)))
everything = [x for s in streams for x in s]
print(heapq.nlargest(3, everything), heapq.nsmallest(3, everything, key=lambda x: abs(x - 50)))


def running_median(values):
    low, high = [], []
    for v in values:
        heapq.heappush(high, -heapq.heappushpop(low, -v))
        if len(high) > len(low):
            heapq.heappush(low, -heapq.heappop(high))
        yield -low[0] if len(low) > len(high) else (high[0] - low[0]) / 2


print(list(running_median([5, 2, 8, 1, 9, 9])))
h = everything[:]
heapq.heapify(h)
print([heapq.heappop(h) for _ in range(4)], heapq.heapreplace(h, 0) is not None, h[0])
