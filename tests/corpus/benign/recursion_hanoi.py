moves = []
def hanoi(n, source, target, spare):
    if n == 0:
        return
    hanoi(n - 1, source, spare, target)
    moves.append((n, source, target))
    hanoi(n - 1, spare, target, source)

hanoi(4, "A", "C", "B")
print(len(moves), moves[:3], moves[-1])
