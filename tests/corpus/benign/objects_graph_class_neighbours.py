from collections import defaultdict, deque
import heapq


class Graph:
    def __init__(self, edges=(), directed=False):
        self._adjacent = defaultdict(dict)
        self.directed = directed
        for a, b, *weight in edges:
            self.connect(a, b, *weight)

    def connect(self, a, b, weight=1):
        self._adjacent[a][b] = weight
        if not self.directed:
            self._adjacent[b][a] = weight

    def __getitem__(self, node):
        return self._adjacent[node]

    def __contains__(self, node):
        return node in self._adjacent

    def bfs(self, start):
        seen, queue = {start}, deque([start])
        while queue:
            node = queue.popleft()
            yield node
            for other in sorted(self[node]):
                if other not in seen:
                    seen.add(other)
                    queue.append(other)

    def shortest(self, start, goal):
        heap, best = [(0, start, [start])], {}
        while heap:
            cost, node, path = heapq.heappop(heap)
            if node == goal:
                return cost, path
            if best.get(node, float("inf")) <= cost:
                continue
            best[node] = cost
            for other, weight in self[node].items():
                heapq.heappush(heap, (cost + weight, other, path + [other]))
        return float("inf"), []


g = Graph([("A", "B", 4), ("A", "C", 1), ("C", "B", 2), ("B", "D", 5), ("C", "D", 8), ("E", "F")])
print(list(g.bfs("A")), g.shortest("A", "D"), g.shortest("A", "F"))
print("E" in g, "Z" in g, dict(g["A"]))
