from collections import OrderedDict

class LRU:
    def __init__(self, capacity):
        self._capacity = capacity
        self._data = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key, default=None):
        if key in self._data:
            self._data.move_to_end(key)
            self.hits += 1
            return self._data[key]
        self.misses += 1
        return default

    def put(self, key, value):
        self._data[key] = value
        self._data.move_to_end(key)
        if len(self._data) > self._capacity:
            evicted, _ = self._data.popitem(last=False)
            return evicted

cache = LRU(2)
print([cache.put(k, k * k) for k in (1, 2, 3)])
print([cache.get(k) for k in (1, 2, 3)], cache.hits, cache.misses)
