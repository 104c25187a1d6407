from decimal import Decimal, ROUND_HALF_EVEN


def schedule(principal, yearly_rate, months):
    principal, rate = Decimal(principal), Decimal(yearly_rate) / 12
    payment = (principal * rate / (1 - (1 + rate) ** -months)).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
    for month in range(1, months + 1):
        interest = (principal * rate).quantize(Decimal("0.01"))
        part = min(payment - interest, principal) if month < months else principal
        principal -= part
        yield month, interest + part, interest, part, principal


rows = list(schedule("10000", "0.06", 12))
print(f"{'#':>3}{'payment':>10}{'interest':>10}{'principal':>11}{'left':>11}")
for row in rows[:3] + rows[-2:]:
    print("{:>3}{:>10}{:>10}{:>11}{:>11}".format(*row))
total = sum(r[1] for r in rows)
print("paid", total, "interest", total - 10_000, sum(r[3] for r in rows) == 10_000)
compound = [round(1000 * (1 + 0.05 / n) ** (n * 10), 2) for n in (1, 4, 12, 365)]
compound
print(compound)
