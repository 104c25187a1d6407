graph = {"app": ["lib", "ui"], "ui": ["core"], "lib": ["core", "net"], "net": [], "core": [], "test": ["app"]}


def order(graph):
    done, active, result = set(), [], []

    def visit(node):
        if node in done:
            return
        if node in active:
            raise ValueError("cycle: " + " -> ".join(active[active.index(node):] + [node]))
        active.append(node)
        for dependency in graph.get(node, ()):
            visit(dependency)
        active.pop()
        done.add(node)
        result.append(node)

    for node in graph:
        visit(node)
    return result


print(order(graph))
levels = {}
for node in order(graph):
    levels[node] = 1 + max((levels[d] for d in graph[node]), default=-1)
for level in range(max(levels.values()) + 1):
    print(f"stage {level}: {', '.join(sorted(n for n, l in levels.items() if l == level))}")
try:
    order({**graph, "core": ["test"]})
except ValueError as e:
    print(e)
