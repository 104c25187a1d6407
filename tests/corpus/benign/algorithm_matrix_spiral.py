def spiral(matrix):
    result = []
    while matrix:
        result += matrix[0]
        matrix = [list(row) for row in zip(*matrix[1:])][::-1]
    return result

print(spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))
grid = ["..#", "#.#", "..."]
print(sum(row.count("#") for row in grid), "\n".join(reversed(grid)))
