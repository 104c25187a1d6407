PAIRS = list(zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split()))


def to_roman(n):
    if not 0 < n < 4000:
        raise ValueError(f"{n} has no Roman numeral")
    out = ""
    for value, letters in PAIRS:
        while n >= value:
            out, n = out + letters, n - value
    return out


def from_roman(text):
    values = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000)))
    total = 0
    for a, b in zip(text, text[1:] + "I"):
        total += values[a] if values[a] >= values[b] else -values[a]
    return total


assert all(from_roman(to_roman(n)) == n for n in range(1, 4000))
print([to_roman(n) for n in (4, 9, 14, 1994, 2024)])


def base(n, b, digits="0123456789abcdefghijklmnopqrstuvwxyz"):
    if n < 0:
        return "-" + base(-n, b)
    head, tail = divmod(n, b)
    return (base(head, b) if head else "") + digits[tail]


print(base(255, 16), base(-10, 2), base(123456789, 36), int(base(987, 7), 7))
for bad in (0, 4000):
    try:
        to_roman(bad)
    except ValueError as e:
        print(e)
