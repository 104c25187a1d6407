raw = "12, 7, 5, n/a, 9"
numbers = []
for part in raw.split(","):
    print(f"parsing {part.strip()!r}")
    numbers.append(int(part))
print(sum(numbers))
