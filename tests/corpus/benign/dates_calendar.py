import calendar
from datetime import date
print(int(calendar.monthrange(2024, 2)[0]), calendar.monthrange(2024, 2)[1], calendar.isleap(2023), calendar.month_name[5])
print(calendar.month(2024, 2))
fridays = [d for d in range(1, 32) if date(2024, 3, d).weekday() == calendar.FRIDAY]
print(fridays)
