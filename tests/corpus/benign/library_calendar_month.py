import calendar
from datetime import date

print(calendar.month(2024, 5))
print(calendar.monthrange(2024, 2)[1], calendar.isleap(1900), calendar.leapdays(2000, 2025))
print([calendar.day_abbr[i] for i in range(7)], calendar.month_name[12], list(calendar.month_abbr)[1:4])
c = calendar.Calendar(firstweekday=6)
weeks = c.monthdayscalendar(2023, 1)
print(weeks[0], len(weeks))
fridays_13 = [f"{y}-{m:02}" for y in (2023, 2024) for m in range(1, 13) if calendar.weekday(y, m, 13) == 4]
print(fridays_13)
third_wednesday = [d for d in c.itermonthdates(2024, 9) if d.month == 9 and d.weekday() == 2][2]
print(third_wednesday, calendar.timegm((1970, 1, 2, 0, 0, 0)))
