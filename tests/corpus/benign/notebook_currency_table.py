rates = {"EUR": 1.0, "CHF": 0.96, "USD": 1.08, "GBP": 0.85, "JPY": 163.2}
codes = sorted(rates)
print("      " + "".join(f"{c:>10}" for c in codes))
for a in codes:
    print(f"{a:<6}" + "".join(f"{rates[b] / rates[a]:>10.4f}" for b in codes))


def convert(amount, source, target, *, fee=0.0):
    """Convert, less the fee."""
    try:
        value = amount / rates[source] * rates[target]
    except KeyError as missing:
        raise ValueError(f"unknown currency {missing}") from missing
    return round(value * (1 - fee), 2)


print(convert(100, "EUR", "JPY"), convert(100, "CHF", "USD", fee=0.015))
for attempt in [(5, "EUR", "XXX"), ("5", "EUR", "USD")]:
    try:
        convert(*attempt)
    except (ValueError, TypeError) as e:
        print(type(e).__name__, "|", e, "|", type(e.__cause__).__name__)
help_text = convert.__doc__
help_text
