from itertools import permutations


def queens(n, placed=()):
    if len(placed) == n:
        yield placed
        return
    row = len(placed)
    for col in range(n):
        if all(col != c and abs(col - c) != row - r for r, c in enumerate(placed)):
            yield from queens(n, placed + (col,))


solutions = list(queens(6))
print(len(solutions), solutions[0])
print("\n".join("".join("Q" if c == col else "." for c in range(6)) for col in solutions[0]))
print([sum(1 for _ in queens(n)) for n in range(1, 8)])

# SEND + MORE style puzzle, small version: TO + GO = OUT
for t, o, g, u in permutations(range(10), 4):
    if t and g and o and 10 * t + o + 10 * g + o == 100 * o + 10 * u + t:
        print(f"{t}{o} + {g}{o} = {o}{u}{t}")
