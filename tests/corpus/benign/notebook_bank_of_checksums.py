def luhn(number):
    digits = [int(c) for c in str(number) if c.isdigit()]
    for i in range(len(digits) - 2, -1, -2):
        digits[i] = digits[i] * 2 - 9 * (digits[i] > 4)
    return sum(digits) % 10 == 0


def iban(text):
    compact = text.replace(" ", "").upper()
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def isbn10(text):
    digits = [10 if c in "xX" else int(c) for c in text if c.isalnum()]
    return len(digits) == 10 and sum(d * w for d, w in zip(digits, range(10, 0, -1))) % 11 == 0


def isbn13(text):
    digits = [int(c) for c in text if c.isdigit()]
    return len(digits) == 13 and sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


checks = [(luhn, "4539 1488 0343 6467"), (luhn, "8273 1232 7352 0569"), (iban, "GB82 WEST 1234 5698 7654 32"), (iban, "GB82 WEST 1234 5698 7654 33"), (isbn10, "0-306-40615-2"), (isbn10, "0-306-40615-3"), (isbn13, "978-0-306-40615-7")]
for check, number in checks:
    print(f"{check.__name__:<8}{number:<30}{'valid' if check(number) else 'INVALID'}")
print([n for n in range(79927398710, 79927398720) if luhn(n)])
try:
    iban("not an iban!")
except ValueError as e:
    print(type(e).__name__)
