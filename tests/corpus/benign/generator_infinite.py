from itertools import count, cycle, takewhile, accumulate, chain, islice

def primes():
    found = []
    for n in count(2):
        if all(n % p for p in takewhile(lambda p: p * p <= n, found)):
            found.append(n)
            yield n

print(list(islice(primes(), 10)))
print(list(zip("abcde", cycle([1, 2]))))
print(list(accumulate([1, 2, 3, 4], lambda a, b: a * b)), list(chain("ab", [1])))
