import heapq

MAZE = """
##########
#S..#....#
#.#.#.##.#
#.#...#..#
#.#####.##
#......#G#
###.##...#
##########
""".strip().split("\n")


def find(char):
    return next((r, row.index(char)) for r, row in enumerate(MAZE) if char in row)


start, goal = find("S"), find("G")
estimate = lambda p: abs(p[0] - goal[0]) + abs(p[1] - goal[1])
frontier, came, cost = [(estimate(start), start)], {start: None}, {start: 0}
expanded = 0
while frontier:
    _, here = heapq.heappop(frontier)
    expanded += 1
    if here == goal:
        break
    for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        there = here[0] + dr, here[1] + dc
        if MAZE[there[0]][there[1]] == "#":
            continue
        new = cost[here] + 1
        if new < cost.get(there, float("inf")):
            cost[there], came[there] = new, here
            heapq.heappush(frontier, (new + estimate(there), there))

path, node = [], goal
while node:
    path.append(node)
    node = came[node]
path = set(path)
for r, row in enumerate(MAZE):
    print("".join("*" if (r, c) in path and ch == "." else ch for c, ch in enumerate(row)))
print("steps:", cost[goal], "expanded at most all:", expanded <= sum(row.count(".") for row in MAZE) + 2)
