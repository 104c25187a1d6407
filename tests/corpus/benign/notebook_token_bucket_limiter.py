from collections import deque


class TokenBucket:
    def __init__(self, rate, capacity):
        self.rate, self.capacity = rate, capacity
        self._tokens, self._at = capacity, 0.0

    def allow(self, now, cost=1):
        self._tokens = min(self.capacity, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens >= cost:
            self._tokens -= cost
            return True
        return False


class SlidingWindow:
    def __init__(self, limit, seconds):
        self.limit, self.seconds, self._times = limit, seconds, deque()

    def allow(self, now, cost=1):
        while self._times and self._times[0] <= now - self.seconds:
            self._times.popleft()
        if len(self._times) + cost > self.limit:
            return False
        self._times.extend([now] * cost)
        return True


times = [0, 0.1, 0.2, 0.3, 1.0, 1.1, 2.5, 2.6, 2.7, 2.8, 6.0]
for limiter in (TokenBucket(rate=1, capacity=3), SlidingWindow(limit=3, seconds=2)):
    marks = "".join("✓" if limiter.allow(t) else "✗" for t in times)
    print(f"{type(limiter).__name__:<14}{marks} {marks.count('✓')}/{len(times)}")
bucket = TokenBucket(0.5, 2)
print([bucket.allow(t, cost=2) for t in (0, 1, 4, 5, 8)], round(bucket._tokens, 2))
