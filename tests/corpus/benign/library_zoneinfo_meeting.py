from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

meeting = datetime(2024, 3, 29, 16, 0, tzinfo=ZoneInfo("Europe/Zurich"))
for city in ("America/New_York", "Asia/Tokyo", "UTC", "Asia/Kolkata"):
    local = meeting.astimezone(ZoneInfo(city))
    print(f"{city:<18}{local:%a %d %b %H:%M %z}")
week_later = meeting + timedelta(days=7)
print(meeting.utcoffset(), week_later.utcoffset(), week_later.isoformat())
print((week_later.astimezone(timezone.utc) - meeting.astimezone(timezone.utc)))
naive = datetime(2024, 1, 1)
try:
    naive < meeting
except TypeError as e:
    print("TypeError:", e)
print(naive.replace(tzinfo=timezone.utc).timestamp(), datetime.fromisoformat("2024-01-01T00:00:00+02:00").tzinfo)
try:
    ZoneInfo("Mars/Olympus")
except Exception as e:
    print(type(e).__name__)
print(timezone(timedelta(hours=5, minutes=30)), ZoneInfo("UTC").key)
