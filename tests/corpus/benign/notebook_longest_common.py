from functools import lru_cache


def lcs(a, b):
    table = [[""] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + x if x == y else max(table[i + 1][j], table[i][j + 1], key=len)
    return table[-1][-1]


@lru_cache(maxsize=None)
def distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))


def longest_increasing(seq):
    tails = []
    for x in seq:
        lo, hi = 0, len(tails)
        while lo < hi:
            mid = (lo + hi) // 2
            lo, hi = (mid + 1, hi) if tails[mid] < x else (lo, mid)
        tails[lo:lo + 1] = [x]
    return len(tails)


print(lcs("AGGTAB", "GXTXAYB"), lcs("stone", "longest"))
for pair in (("kitten", "sitting"), ("flaw", "lawn"), ("", "abc")):
    print(pair, distance(*pair))
print(distance.cache_info().currsize > 10, longest_increasing([10, 9, 2, 5, 3, 7, 101, 18]))
