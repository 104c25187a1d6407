from collections import OrderedDict


class LRU:
    def __init__(self, capacity):
        self.capacity = capacity
        self._data = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key, default=None):
        try:
            self._data.move_to_end(key)
        except KeyError:
            self.misses += 1
            return default
        self.hits += 1
        return self._data[key]

    def put(self, key, value):
        self._data[key] = value
        self._data.move_to_end(key)
        if len(self._data) > self.capacity:
            evicted, _ = self._data.popitem(last=False)
            return evicted

    def __contains__(self, key):
        return key in self._data

    def __repr__(self):
        return f"LRU({', '.join(f'{k}={v}' for k, v in self._data.items())}; {self.hits}/{self.hits + self.misses})"


cache = LRU(3)
for key in "abcadbaef":
    if cache.get(key) is None:
        gone = cache.put(key, ord(key))
        print(f"put {key}" + (f", evicted {gone}" if gone else ""))
print(cache)
print("a" in cache, "z" in cache, list(reversed(cache._data)))
