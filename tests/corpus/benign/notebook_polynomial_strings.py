from itertools import zip_longest


def add(p, q):
    return [a + b for a, b in zip_longest(p, q, fillvalue=0)]


def mul(p, q):
    out = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def show(p):
    sup = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    terms = [f"{a:+d}" + ("" if i == 0 else "x" if i == 1 else "x" + str(i).translate(sup)) for i, a in enumerate(p) if a]
    return " ".join(reversed(terms)) or "0"


p, q = [1, 2], [-1, 0, 3]
print(show(p), "|", show(q), "|", show(add(p, q)), "|", show(mul(p, q)))
power = [1]
for n in range(6):
    print(n, power)
    power = mul(power, [1, 1])
evaluate = lambda p, x: sum(a * x ** i for i, a in enumerate(p))
assert all(evaluate(mul(p, q), x) == evaluate(p, x) * evaluate(q, x) for x in range(-5, 6))
print(show([]), evaluate(power, 2))
