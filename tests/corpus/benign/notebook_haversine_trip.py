from math import radians, sin, cos, asin, sqrt, atan2, degrees
from itertools import permutations, pairwise

cities = {"Zürich": (47.37, 8.54), "Bern": (46.95, 7.45), "Genève": (46.20, 6.14), "Lugano": (46.00, 8.95), "Basel": (47.56, 7.59)}


def distance(a, b):
    (lat1, lon1), (lat2, lon2) = (map(radians, cities[c]) for c in (a, b))
    h = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371 * asin(sqrt(h))


def bearing(a, b):
    (lat1, lon1), (lat2, lon2) = (tuple(map(radians, cities[c])) for c in (a, b))
    angle = atan2(sin(lon2 - lon1) * cos(lat2), cos(lat1) * sin(lat2) - sin(lat1) * cos(lat2) * cos(lon2 - lon1))
    return "N NE E SE S SW W NW".split()[round(degrees(angle) % 360 / 45) % 8]


names = list(cities)
print(" " * 8 + "".join(f"{n:>8}" for n in names))
for a in names:
    print(f"{a:<8}" + "".join(f"{distance(a, b):>8.0f}" for b in names))
start, *others = names
best = min(permutations(others), key=lambda p: sum(distance(a, b) for a, b in pairwise((start, *p, start))))
route = (start, *best, start)
print(" > ".join(route), f"{sum(distance(a, b) for a, b in pairwise(route)):.0f} km")
for a, b in list(pairwise(route))[:3]:
    print(f"{a} to {b}: {bearing(a, b)}")
