from datetime import date, timedelta, datetime

holidays = {date(2024, 12, 25), date(2024, 12, 26), date(2025, 1, 1)}


def add_business_days(start: date, days: int) -> date:
    current = start
    while days:
        current += timedelta(days=1)
        if current.weekday() < 5 and current not in holidays:
            days -= 1
    return current


print(add_business_days(date(2024, 12, 20), 5), add_business_days(date(2024, 12, 31), 1))
d = date(2024, 2, 28)
print([(d + timedelta(n)).isoformat() for n in range(3)], (date(2025, 3, 1) - date(2024, 3, 1)).days)
print(d.isocalendar()[1], f"{d:%A, %d %B %Y}", d.replace(day=1), d.timetuple().tm_yday)
print(datetime(2024, 1, 1, 12) + timedelta(hours=36, minutes=15), timedelta(days=1.5), str(timedelta(seconds=-1)))
quarter = lambda x: f"Q{(x.month - 1) // 3 + 1}/{x.year % 100}"
print([quarter(date(2024, m, 1)) for m in (1, 6, 12)])
try:
    date(2023, 2, 29)
except ValueError as e:
    print("ValueError", "day" in str(e))
print(min(holidays), sorted(holidays)[-1] > date.min, date.max.year)
