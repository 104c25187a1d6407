import copy


class Board:
    def __init__(self, size):
        self.cells = [[0] * size for _ in range(size)]
        self.moves = []

    def play(self, i, j, who):
        if self.cells[i][j]:
            raise ValueError(f"({i}, {j}) is taken by {self.cells[i][j]}")
        self.cells[i][j] = who
        self.moves.append((i, j))
        return self

    def __copy__(self):
        clone = Board(0)
        clone.cells, clone.moves = self.cells, self.moves[:]
        return clone


board = Board(3).play(1, 1, "x")
shallow, deep = copy.copy(board), copy.deepcopy(board)
board.play(0, 0, "o")
print(shallow.cells[0][0], deep.cells[0][0], len(shallow.moves), len(deep.moves))
try:
    shallow.play(0, 0, "x")
except ValueError as e:
    print(e)
shared = ["leaf"]
original = {"a": shared, "b": shared, "t": (1, shared)}
clone = copy.deepcopy(original)
print(clone["a"] is clone["b"], clone["a"] is shared, clone["t"][1] is clone["a"], clone == original)
loop = [1]
loop.append(loop)
twin = copy.deepcopy(loop)
print(twin[1] is twin, twin)
