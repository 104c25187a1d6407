items = [("Widget", 4, 3.75), ("Gizmo", 10, 12.5), ("Thing", 1, 99.999)]
width = 30
print("=" * width)
print("REPORT".center(width))
print("=" * width)
for name, qty, price in items:
    print(f"{name:<12}{qty:>4}{price:>12.2f}")
print("-" * width)
print(f"{'Total':<16}{sum(q * p for _, q, p in items):>12,.2f}")
