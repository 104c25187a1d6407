from datetime import date, timedelta
start = date(2024, 2, 26)
for i in range(5):
    day = start + timedelta(days=i)
    print(f"{day:%a %d %b %Y} {day.isoformat()} week {day.isocalendar()[1]} {day:%j}")
