def collatz(n):
    yield n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        yield n


list(collatz(6))

# %%
lengths = {n: sum(1 for _ in collatz(n)) for n in range(1, 1001)}
longest = max(lengths, key=lengths.get)
print(longest, lengths[longest], max(collatz(longest)))

# %%
from collections import Counter
by_length = Counter(v // 25 * 25 for v in lengths.values())
for bucket, n in sorted(by_length.items()):
    print(f"{bucket:>4}+ {'*' * (n // 10):<40} {n}")

# %%
records, best = [], 0
for n, length in lengths.items():
    if length > best:
        best = length
        records.append((n, length))
print(records[-5:])
records[-1]
