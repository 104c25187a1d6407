from collections import Counter

text = """It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief"""
words = text.lower().replace(",", "").split()
counts = Counter(words)
counts.most_common(3)

# %%
width = 30
top = counts.most_common(6)
scale = width / top[0][1]
for word, n in top:
    print(f"{word:>8} | {'█' * int(n * scale)} {n}")

lengths = Counter(map(len, words))
print()
for height in range(max(lengths.values()), 0, -1):
    print("".join(" # " if lengths.get(i, 0) >= height else "   " for i in range(1, max(lengths) + 1)))
print("".join(f"{i:^3}" for i in range(1, max(lengths) + 1)))
print(f"{len(words)} words, {len(counts)} distinct, mean length {sum(map(len, words)) / len(words):.2f}")
