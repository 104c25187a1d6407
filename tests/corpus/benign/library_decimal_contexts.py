from decimal import Decimal, getcontext, localcontext, ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_CEILING, DivisionByZero, Context

getcontext().prec = 12
print(Decimal(2).sqrt(), Decimal(1) / Decimal(7), Decimal("1.20") * 3)
for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_CEILING):
    print(rounding, [str(Decimal(x).quantize(Decimal("0.1"), rounding)) for x in ("0.25", "0.35", "-0.25", "1.01")])
with localcontext() as context_:
    context_.prec = 40
    total, term, n = Decimal(0), Decimal(1), 0
    while term > Decimal(10) ** -38:
        total += term
        n += 1
        term /= n
    e = total
print(str(e)[:32], +e)


def split_bill(total, people):
    total = Decimal(total)
    share = (total / people).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN)
    shares = [share] * people
    shares[0] += total - sum(shares)
    return shares


print(split_bill("100", 3), sum(split_bill("100", 3)), split_bill("0.05", 2))
try:
    Decimal(1) / Decimal(0)
except DivisionByZero:
    print("DivisionByZero")
print(Decimal("1e3"), Decimal("1000").normalize(), f"{Decimal('1234567.891'):,.2f}", Decimal("0.1") + Decimal("0.2"), Decimal(0.1) == Decimal("0.1"), int(Decimal("7.9")))
