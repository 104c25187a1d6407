from decimal import Decimal

shares = {"a": Decimal("2.5"), "b": Decimal("0")}
for name, share in shares.items():
    print(name, Decimal(10) / share)
