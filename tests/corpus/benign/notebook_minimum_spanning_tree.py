edges = [("A", "B", 7), ("A", "D", 5), ("B", "C", 8), ("B", "D", 9), ("B", "E", 7), ("C", "E", 5), ("D", "E", 15), ("D", "F", 6), ("E", "F", 8), ("E", "G", 9), ("F", "G", 11)]
parent = {}


def find(x):
    parent.setdefault(x, x)
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


tree = []
for a, b, w in sorted(edges, key=lambda e: e[2]):
    if (ra := find(a)) != (rb := find(b)):
        parent[ra] = rb
        tree.append((a, b, w))
print(tree, sum(w for *_, w in tree))

nodes = sorted({n for a, b, _ in edges for n in (a, b)})
INF = float("inf")
dist = {(a, b): 0 if a == b else INF for a in nodes for b in nodes}
for a, b, w in edges:
    dist[a, b] = dist[b, a] = w
for k in nodes:
    for i in nodes:
        for j in nodes:
            dist[i, j] = min(dist[i, j], dist[i, k] + dist[k, j])
print("   " + "".join(f"{n:>4}" for n in nodes))
for a in nodes:
    print(f"{a:<3}" + "".join(f"{dist[a, b]:>4}" for b in nodes))
