rows = [("Name", "Qty", "Price"), ("Apple", 3, 1.25), ("Watermelon", 1, 4.5), ("Fig", 120, 0.3)]
widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
def render(row):
    return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |"
print(render(rows[0]))
print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
for row in rows[1:]:
    print(render(row))
