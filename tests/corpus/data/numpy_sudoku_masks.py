import numpy as np

board = np.array([[5, 3, 0, 0, 7, 0, 0, 0, 0], [6, 0, 0, 1, 9, 5, 0, 0, 0], [0, 9, 8, 0, 0, 0, 0, 6, 0], [8, 0, 0, 0, 6, 0, 0, 0, 3], [4, 0, 0, 8, 0, 3, 0, 0, 1], [7, 0, 0, 0, 2, 0, 0, 0, 6], [0, 6, 0, 0, 0, 0, 2, 8, 0], [0, 0, 0, 4, 1, 9, 0, 0, 5], [0, 0, 0, 0, 8, 0, 0, 7, 9]])

def options(b, r, c):
    block = b[r // 3 * 3:r // 3 * 3 + 3, c // 3 * 3:c // 3 * 3 + 3]
    return np.setdiff1d(np.arange(1, 10), np.concatenate([b[r], b[:, c], block.ravel()]))

def solve(b):
    empty = np.argwhere(b == 0)
    if not len(empty):
        return True
    r, c = min(empty, key=lambda rc: len(options(b, *rc)))
    for v in options(b, r, c):
        b[r, c] = v
        if solve(b):
            return True
    b[r, c] = 0
    return False

print(solve(board))
print(board, (board.sum(axis=0) == 45).all())
