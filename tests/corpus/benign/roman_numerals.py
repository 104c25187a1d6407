def to_roman(n):
    table = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
             (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    out = ""
    for value, symbol in table:
        while n >= value:
            out += symbol
            n -= value
    return out

def from_roman(s):
    values = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000)))
    total = 0
    for a, b in zip(s, s[1:] + "I"):
        total += -values[a] if values[a] < values[b] and b != "I" or values[a] < values[b] else values[a]
    return total

for n in (4, 9, 14, 1994, 2024):
    print(n, to_roman(n), from_roman(to_roman(n)))
