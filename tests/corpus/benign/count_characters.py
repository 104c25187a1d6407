from collections import Counter
freq = Counter(c for c in context.lower() if c.isalpha())
total = sum(freq.values())
for letter, n in sorted(freq.items(), key=lambda kv: (-kv[1], kv[0]))[:6]:
    print(f"{letter}: {n:5d} {n / total:6.2%} {'#' * round(100 * n / total)}")
vowels = sum(freq[v] for v in "aeiou")
print(f"vowels {vowels / total:.3f}")
