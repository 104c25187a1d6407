import random
from math import dist, pi


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def hull(points):
    points = sorted(set(points))
    if len(points) < 3:
        return points

    def half(points):
        chain = []
        for p in points:
            while len(chain) > 1 and cross(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(points) + half(points[::-1])


def area(polygon):
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1]))) / 2


def inside(p, polygon):
    result = False
    for (x1, y1), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1]):
        if (y1 > p[1]) != (y2 > p[1]) and p[0] < (x2 - x1) * (p[1] - y1) / (y2 - y1) + x1:
            result = not result
    return result


random.seed(8)
points = [(random.randint(0, 20), random.randint(0, 10)) for _ in range(25)]
h = hull(points)
perimeter = sum(dist(a, b) for a, b in zip(h, h[1:] + h[:1]))
print(len(h), h[0], f"area {area(h)}, perimeter {perimeter:.2f}, roundness {4 * pi * area(h) / perimeter ** 2:.3f}")
print(inside((10, 5), h), inside((30, 5), h), hull([(0, 0), (1, 1)]), area([(0, 0), (4, 0), (4, 3)]))
for y in range(10, -1, -1):
    print("".join("O" if (x, y) in h else "." if (x, y) in points else " " for x in range(21)).rstrip())
