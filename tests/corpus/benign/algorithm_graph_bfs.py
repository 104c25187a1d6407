from collections import deque
graph = {"A": ["B", "C"], "B": ["D"], "C": ["D", "E"], "D": ["F"], "E": ["F"], "F": []}

def shortest(start, goal):
    queue = deque([[start]])
    seen = {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        for neighbour in graph[path[-1]]:
            if neighbour not in seen:
                seen.add(neighbour)
                queue.append(path + [neighbour])
    return None

print(shortest("A", "F"), shortest("F", "A"))

def topological():
    order, visited = [], set()
    def visit(node):
        if node in visited:
            return
        visited.add(node)
        for n in graph[node]:
            visit(n)
        order.append(node)
    for node in graph:
        visit(node)
    return order[::-1]
print(topological())
