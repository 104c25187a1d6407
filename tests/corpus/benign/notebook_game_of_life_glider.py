from itertools import product

GLIDER = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}


def neighbours(cell):
    x, y = cell
    return {(x + dx, y + dy) for dx, dy in product((-1, 0, 1), repeat=2)} - {cell}


def step(alive):
    candidates = alive | {n for cell in alive for n in neighbours(cell)}
    return {c for c in candidates if (k := len(neighbours(c) & alive)) == 3 or (k == 2 and c in alive)}


def show(alive, size=6):
    return "\n".join("".join("#" if (x, y) in alive else "." for x in range(size)) for y in range(size))


world = set(GLIDER)
for generation in range(5):
    if generation in (0, 1, 4):
        print(f"generation {generation}\n{show(world)}")
    world = step(world)
world = GLIDER
for _ in range(40):
    world = step(world)
moved = {(x - 10, y - 10) for x, y in world}
print(moved == GLIDER, len(world))
