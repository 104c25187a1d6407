from decimal import Decimal, ROUND_HALF_UP, ROUND_DOWN, getcontext, localcontext, InvalidOperation

lines = [("Widget", "3", "19.99"), ("Gadget", "1", "0.05"), ("Service", "2.5", "80")]
VAT = Decimal("0.081")
net = Decimal(0)
for text, quantity, price in lines:
    amount = (Decimal(quantity) * Decimal(price)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    net += amount
    print(f"{text:<10}{quantity:>6} x {Decimal(price):>8.2f} = {amount:>9}")
tax = (net * VAT).quantize(Decimal("0.01"), ROUND_HALF_UP)
print(f"net {net} tax {tax} gross {net + tax} rounded {((net + tax) * 20).quantize(Decimal(1)) / 20}")
print(0.1 + 0.2 == 0.3, Decimal("0.1") + Decimal("0.2") == Decimal("0.3"), Decimal(1) / 3)
with localcontext() as ctx:
    ctx.prec = 50
    print(Decimal(2).sqrt())
print(getcontext().prec, Decimal("7.899").quantize(Decimal("0.1"), rounding=ROUND_DOWN), Decimal("1E+3").normalize())
try:
    Decimal("twelve")
except InvalidOperation as e:
    print("InvalidOperation")
print(sorted([Decimal("1.10"), Decimal("1.1"), Decimal("-3")]), Decimal("3.14").as_tuple().digits, max(Decimal("NaN").is_nan(), False))
