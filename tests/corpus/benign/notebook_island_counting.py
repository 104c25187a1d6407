grid = """
##..#
#...#
..#..
....#
##..#
""".strip().splitlines()

height, width = len(grid), len(grid[0])
seen = set()
sizes = []
for y in range(height):
    for x in range(width):
        if grid[y][x] != "#" or (x, y) in seen:
            continue
        stack, size = [(x, y)], 0
        while stack:
            cx, cy = stack.pop()
            if not (0 <= cx < width and 0 <= cy < height) or grid[cy][cx] != "#" or (cx, cy) in seen:
                continue
            seen.add((cx, cy))
            size += 1
            stack += [(cx + 1, cy), (cx - 1, cy), (cx, cy + 1), (cx, cy - 1)]
        sizes.append(size)
print(len(sizes), sizes)
rotated = ["".join(column) for column in zip(*grid[::-1])]
print("\n".join(rotated))
print(sum(row.count("#") for row in rotated) == len(seen))
