from datetime import date, timedelta

def age(born, today):
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))

today = date(2024, 6, 15)
print(age(date(1990, 6, 16), today), age(date(1990, 6, 15), today))

def add_business_days(day, n):
    while n > 0:
        day += timedelta(days=1)
        if day.weekday() < 5:
            n -= 1
    return day

print(add_business_days(today, 10), (date(2025, 1, 1) - today).days)
print(sorted([date(2024, 5, 1), date(2023, 5, 1)]), date.fromordinal(738000), today.replace(day=1))
