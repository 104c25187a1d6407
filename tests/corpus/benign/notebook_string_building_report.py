lines = []
add = lines.append
add("Quarterly report")
add("=" * len(lines[0]))
quarters = {"Q1": (120, 80), "Q2": (150, 95), "Q3": (90, 110), "Q4": (200, 130)}
for q, (income, cost) in quarters.items():
    profit = income - cost
    marker = "▲" if profit > 0 else "▼" if profit < 0 else "="
    add(f"{q}: {income:>5} - {cost:>5} = {profit:>+5} {marker}")
income, cost = map(sum, zip(*quarters.values()))
add(f"{'total':->20}".replace("-total", " total"))
add(f"{income} - {cost} = {income - cost}")
text = "\n".join(lines)
print(text)
print(text.count("▲"), text.title().split()[0], max(lines, key=len)[:6], text.encode("utf-8")[-3:])
print("|".join(f"{w:^7}" for w in ("left", "mid", "right")))
print(f"{'Item':<10}|{'Qty':^5}|{'Price':>8}\n{'-' * 25}")
for item, qty, price in (("Nails", 100, 0.05), ("Hammer", 1, 12.5)):
    print(f"{item:<10}|{qty:^5d}|{price:>8.2f}")
