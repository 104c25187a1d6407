from functools import lru_cache

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] == board[b] == board[c] != ".":
            return board[a]
    return "draw" if "." not in board else None


@lru_cache(maxsize=None)
def value(board, player):
    match winner(board):
        case "x":
            return 1
        case "o":
            return -1
        case "draw":
            return 0
    other = "o" if player == "x" else "x"
    results = [value(board[:i] + player + board[i + 1:], other) for i, cell in enumerate(board) if cell == "."]
    return max(results) if player == "x" else min(results)


def best_move(board, player):
    other = "o" if player == "x" else "x"
    moves = [i for i, cell in enumerate(board) if cell == "."]
    key = lambda i: value(board[:i] + player + board[i + 1:], other)
    return max(moves, key=key) if player == "x" else min(moves, key=key)


board, player = ".........", "x"
while winner(board) is None:
    move = best_move(board, player)
    board = board[:move] + player + board[move + 1:]
    player = "o" if player == "x" else "x"
print(board[:3], board[3:6], board[6:], winner(board), sep="\n")
print(value("." * 9, "x"), value.cache_info().currsize)
