from datetime import date, timedelta


class DateRange:
    def __init__(self, start: date, end: date, step: timedelta = timedelta(days=1)):
        if step <= timedelta(0):
            raise ValueError("the step must be positive")
        self.start, self.end, self.step = start, end, step

    @classmethod
    def month(cls, year, month):
        following = date(year + month // 12, month % 12 + 1, 1)
        return cls(date(year, month, 1), following - timedelta(days=1))

    def __iter__(self):
        day = self.start
        while day <= self.end:
            yield day
            day += self.step

    def __contains__(self, day):
        return self.start <= day <= self.end and not (day - self.start) % self.step

    def __len__(self):
        return max(0, (self.end - self.start) // self.step + 1)

    def __and__(self, other):
        start, end = max(self.start, other.start), min(self.end, other.end)
        return DateRange(start, end) if start <= end else None

    def __repr__(self):
        return f"{self.__class__.__name__}({self.start:%Y-%m-%d}..{self.end})"


feb = DateRange.month(2024, 2)
print(feb, len(feb), date(2024, 2, 29) in feb, date(2024, 3, 1) in feb, DateRange.month(2023, 12))
weekly = DateRange(date(2024, 1, 1), date(2024, 2, 10), timedelta(weeks=1))
print([f"{d:%d.%m}" for d in weekly], date(2024, 1, 9) in weekly, weekly & feb, feb & DateRange.month(2024, 5))
first, *_, last = feb
print(first, last, sum(d.weekday() >= 5 for d in feb))
try:
    DateRange(first, last, timedelta(0))
except ValueError as e:
    print(e)
