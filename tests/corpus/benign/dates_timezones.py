from datetime import datetime, timezone, timedelta
utc = datetime(2024, 7, 1, 12, 0, tzinfo=timezone.utc)
for hours in (-8, 0, 5.5):
    zone = timezone(timedelta(hours=hours))
    print(utc.astimezone(zone).strftime("%Y-%m-%d %H:%M %z"))
print(utc.timestamp(), datetime.fromtimestamp(0, timezone.utc))
a = datetime(2024, 7, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))
print(a == utc, a - utc)
