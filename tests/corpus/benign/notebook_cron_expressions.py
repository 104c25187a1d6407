from datetime import datetime, timedelta


def field(text, low, high):
    values = set()
    for part in text.split(","):
        body, _, step = part.partition("/")
        if body == "*":
            start, end = low, high
        elif "-" in body:
            start, end = map(int, body.split("-"))
        else:
            start = end = int(body)
            if step:
                end = high
        if not low <= start <= end <= high:
            raise ValueError(f"{part!r} is not within {low}-{high}")
        values.update(range(start, end + 1, int(step or 1)))
    return values


class Cron:
    RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]

    def __init__(self, text):
        parts = text.split()
        if len(parts) != 5:
            raise ValueError(f"expected 5 fields, got {len(parts)}")
        self.minute, self.hour, self.day, self.month, self.weekday = (field(p, *r) for p, r in zip(parts, self.RANGES))

    def matches(self, t):
        return t.minute in self.minute and t.hour in self.hour and t.day in self.day and t.month in self.month and (t.weekday() + 1) % 7 in self.weekday

    def after(self, t, n=3):
        t = t.replace(second=0, microsecond=0)
        while n:
            t += timedelta(minutes=1)
            if self.matches(t):
                yield t
                n -= 1


now = datetime(2024, 2, 28, 22, 50)
for text in ("*/20 * * * *", "0 9 * * 1-5", "30 0 29 2 *", "5 1 1,15 * *"):
    print(f"{text:<14}", ", ".join(f"{t:%a %d.%m. %H:%M}" for t in Cron(text).after(now, 2)))
for bad in ("* * *", "61 * * * *", "x * * * *"):
    try:
        Cron(bad)
    except ValueError as e:
        print("ValueError:", e)
