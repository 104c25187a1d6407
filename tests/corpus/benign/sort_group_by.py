from itertools import groupby
from operator import itemgetter
data = [("fruit", "apple"), ("veg", "kale"), ("fruit", "fig"), ("veg", "leek"), ("nut", "pecan")]
data.sort(key=itemgetter(0))
for kind, items in groupby(data, key=itemgetter(0)):
    print(kind, [name for _, name in items])
buckets = {}
for kind, name in data:
    buckets.setdefault(len(name), []).append(name)
print({k: sorted(v) for k, v in sorted(buckets.items())})
