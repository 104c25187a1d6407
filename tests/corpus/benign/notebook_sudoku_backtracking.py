puzzle = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
""".split()
grid = [[int(c) if c != "." else 0 for c in row] for row in puzzle]


def options(r, c):
    used = set(grid[r]) | {grid[i][c] for i in range(9)}
    br, bc = r // 3 * 3, c // 3 * 3
    used |= {grid[i][j] for i in range(br, br + 3) for j in range(bc, bc + 3)}
    return [n for n in range(1, 10) if n not in used]


steps = 0


def solve():
    global steps
    empty = [(r, c) for r in range(9) for c in range(9) if not grid[r][c]]
    if not empty:
        return True
    r, c = min(empty, key=lambda rc: len(options(*rc)))
    for n in options(r, c):
        steps += 1
        grid[r][c] = n
        if solve():
            return True
        grid[r][c] = 0
    return False


assert solve()
for i, row in enumerate(grid):
    if i % 3 == 0 and i:
        print("------+-------+------")
    print(" | ".join(" ".join(map(str, row[j:j + 3])) for j in (0, 3, 6)))
print(all(sum(row) == 45 for row in grid), all(len(set(col)) == 9 for col in zip(*grid)), steps >= 51)
