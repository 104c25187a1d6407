readings = {
    "Mon": [12.1, 14.0, None, 11.8],
    "Tue": [None, None, 15.2, 13.9],
    "Wed": [10.0, 10.4, 10.2, "n/a"],
    "Thu": [],
}


def clean(values):
    for v in values:
        try:
            yield float(v)
        except (TypeError, ValueError):
            continue


summary = {}
for day, values in readings.items():
    numbers = list(clean(values))
    summary[day] = {
        "n": len(numbers),
        "missing": len(values) - len(numbers),
        "mean": sum(numbers) / len(numbers) if numbers else None,
        "range": (min(numbers, default=None), max(numbers, default=None)),
    }
for day, s in summary.items():
    mean = "-" if s["mean"] is None else f"{s['mean']:.2f}"
    print(f"{day}  n={s['n']} missing={s['missing']} mean={mean:>6} range={s['range']}")

# fill the gaps with the value before
flat = [v for values in readings.values() for v in values]
filled, last = [], None
for v in flat:
    last = v if isinstance(v, (int, float)) else last
    filled.append(last)
print(filled)
moving = [round(sum(w) / 3, 2) for w in zip(filled, filled[1:], filled[2:]) if None not in w]
moving
print(moving[:4])
