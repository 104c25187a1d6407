class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True

uf = UnionFind(8)
print([uf.union(a, b) for a, b in [(0, 1), (2, 3), (1, 3), (0, 2), (5, 6)]])
print(len({uf.find(i) for i in range(8)}), uf.size[uf.find(0)])
