_cache = {}
_DEFAULT = 3

def _helper(x, _factor=_DEFAULT):
    if x not in _cache:
        _cache[x] = x * _factor
    return _cache[x]

for _ in range(2):
    total = sum(_helper(i) for i in range(4))
print(total, _cache)
_, second, *_rest = (1, 2, 3, 4)
print(second, _rest)
