def failure(pattern):
    table, k = [0], 0
    for ch in pattern[1:]:
        while k and pattern[k] != ch:
            k = table[k - 1]
        k += pattern[k] == ch
        table.append(k)
    return table


def kmp(text, pattern):
    table, k = failure(pattern), 0
    for i, ch in enumerate(text):
        while k and pattern[k] != ch:
            k = table[k - 1]
        k += pattern[k] == ch
        if k == len(pattern):
            yield i - k + 1
            k = table[k - 1]


def rabin_karp(text, pattern, base=257, modulus=10 ** 9 + 7):
    n, m = len(text), len(pattern)
    high = pow(base, m - 1, modulus)
    value = lambda s: sum(ord(c) * pow(base, m - 1 - i, modulus) for i, c in enumerate(s)) % modulus
    wanted, h = value(pattern), value(text[:m])
    for i in range(n - m + 1):
        if h == wanted and text[i:i + m] == pattern:
            yield i
        if i < n - m:
            h = ((h - ord(text[i]) * high) * base + ord(text[i + m])) % modulus


text = "abracadabra abracadabra"
print(failure("ababaca"), list(kmp(text, "abra")), list(rabin_karp(text, "abra")))
print(list(kmp(context, "timeout")) == list(rabin_karp(context, "timeout")), len(list(kmp("aaaa", "aa"))))
suffixes = sorted(range(11), key=lambda i: text[i:11])
print(suffixes)


def palindrome(s):
    best = ""
    for center in range(2 * len(s) - 1):
        lo, hi = center // 2, center // 2 + center % 2
        while lo >= 0 and hi < len(s) and s[lo] == s[hi]:
            lo, hi = lo - 1, hi + 1
        best = max(best, s[lo + 1:hi], key=len)
    return best


print(palindrome("forgeeksskeegfor"), palindrome("abc"), palindrome(""))
