data = {"mon": 3, "tue": 7, "wed": 1, "thu": 12}
scale = 20 / max(data.values())
for key, value in data.items():
    bar = "█" * round(value * scale)
    print(f"{key:>4} {bar:<20} {value}")
