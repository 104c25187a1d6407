import heapq
import numpy as np

rng = np.random.default_rng(9)
arrivals = rng.exponential(1.0, 500).cumsum()
service = rng.exponential(0.8, 500)
free = [0.0, 0.0]
heapq.heapify(free)
waits = []
for a, s in zip(arrivals, service):
    t = heapq.heappop(free)
    start = max(a, t)
    waits.append(start - a)
    heapq.heappush(free, start + s)
waits = np.asarray(waits)
print(f"mean wait {waits.mean():.4f}, p95 {np.percentile(waits, 95):.4f}, no wait {np.mean(waits == 0):.2%}")
