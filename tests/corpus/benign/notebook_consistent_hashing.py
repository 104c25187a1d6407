import bisect
import hashlib
from collections import Counter


class Ring:
    def __init__(self, nodes=(), replicas=50):
        self.replicas = replicas
        self._keys, self._nodes = [], {}
        for node in nodes:
            self.add(node)

    @staticmethod
    def _hash(text):
        return int(hashlib.md5(text.encode()).hexdigest()[:8], 16)

    def add(self, node):
        for i in range(self.replicas):
            key = self._hash(f"{node}#{i}")
            bisect.insort(self._keys, key)
            self._nodes[key] = node

    def remove(self, node):
        self._keys = [k for k in self._keys if self._nodes[k] != node]

    def __getitem__(self, item):
        if not self._keys:
            raise LookupError("the ring is empty")
        i = bisect.bisect(self._keys, self._hash(item)) % len(self._keys)
        return self._nodes[self._keys[i]]


ring = Ring(["red", "green", "blue"])
items = [f"user{i}" for i in range(600)]
before = {i: ring[i] for i in items}
print(sorted(Counter(before.values()).items()))
ring.add("gold")
moved = [i for i in items if ring[i] != before[i]]
print(len(moved), {ring[i] for i in moved})
ring.remove("gold")
print(all(ring[i] == before[i] for i in items))
try:
    Ring()["x"]
except LookupError as e:
    print("LookupError:", e)
bits = bytearray(64)
for word in ("apple", "pear"):
    for k in range(3):
        position = int(hashlib.sha256(f"{k}{word}".encode()).hexdigest(), 16) % 512
        bits[position // 8] |= 1 << position % 8
maybe = lambda w: all(bits[(p := int(hashlib.sha256(f"{k}{w}".encode()).hexdigest(), 16) % 512) // 8] >> p % 8 & 1 for k in range(3))
print([maybe(w) for w in ("apple", "pear", "plum")])
