import heapq
edges = {"a": {"b": 7, "c": 3}, "b": {"d": 2}, "c": {"b": 1, "d": 8}, "d": {}}

def dijkstra(source):
    distance = {node: float("inf") for node in edges}
    distance[source] = 0
    heap = [(0, source)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > distance[node]:
            continue
        for neighbour, weight in edges[node].items():
            candidate = d + weight
            if candidate < distance[neighbour]:
                distance[neighbour] = candidate
                heapq.heappush(heap, (candidate, neighbour))
    return distance

print(dijkstra("a"))
print(dijkstra("d"))
print(heapq.nlargest(2, [4, 9, 2]), heapq.nsmallest(2, "hello"))
