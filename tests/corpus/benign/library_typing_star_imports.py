from math import *
from collections import *
from itertools import *

print(round(sqrt(2) + sin(pi / 6) + log(e), 6), floor(-1.5), ceil(1.2), gcd(84, 36), factorial(6), hypot(3, 4))
counts = Counter("abracadabra")
print(counts.most_common(2), list(OrderedDict(sorted(counts.items()))), sum(counts.values()))
groups = defaultdict(list)
for word in "apple bob cat alice bar".split():
    groups[word[0]].append(word)
print(dict(groups), deque([1, 2, 3], maxlen=2))
Point = namedtuple("Point", "x y", defaults=[0])
print(Point(1), Point(3, 4)._asdict(), dist(Point(0), Point(3, 4)))
print(list(islice(count(5, 5), 3)), list(chain([1], [2])), list(zip_longest("ab", "c")))
print(isclose(0.1 + 0.2, 0.3), isnan(nan), inf > 1e300, degrees(pi), comb(5, 2), prod([1, 2, 3]))
