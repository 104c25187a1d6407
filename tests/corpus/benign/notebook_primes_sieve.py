import math
from itertools import count, islice, takewhile


def sieve(n):
    flags = bytearray([1]) * (n + 1)
    flags[0:2] = b"\x00\x00"
    for i in range(2, math.isqrt(n) + 1):
        if flags[i]:
            flags[i * i::i] = bytes(len(range(i * i, n + 1, i)))
    return [i for i, flag in enumerate(flags) if flag]


def primes():
    found = []
    for n in count(2):
        if all(n % p for p in takewhile(lambda p: p * p <= n, found)):
            found.append(n)
            yield n


def factor(n):
    factors = {}
    for p in takewhile(lambda p: p * p <= n, primes()):
        while n % p == 0:
            factors[p] = factors.get(p, 0) + 1
            n //= p
    return factors | ({n: 1} if n > 1 else {})


print(sieve(50), len(sieve(10_000)))
print(list(islice(primes(), 10)) == sieve(29))
for n in (97, 360, 1001, 2 ** 20):
    print(n, "=", " x ".join(f"{p}^{k}" if k > 1 else str(p) for p, k in factor(n).items()))
twins = [(p, q) for p, q in zip(sieve(100), sieve(100)[1:]) if q - p == 2]
twins
print(twins[-2:], pow(3, 200, 13), pow(7, -1, 40))
