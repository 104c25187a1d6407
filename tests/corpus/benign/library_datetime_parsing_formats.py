from datetime import datetime, date, time, timedelta, timezone

FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%d %B %Y", "%b %d, %Y", "%Y%m%d"]


def parse(text):
    for fmt in FORMATS:
        try:
            return datetime.strptime(text, fmt).date(), fmt
        except ValueError:
            continue
    raise ValueError(f"no known format fits {text!r}")


for text in ("2024-03-09", "9.3.2024", "03/09/24", "9 March 2024", "Mar 9, 2024", "20240309", "next week"):
    try:
        print("{:<14}{} {}".format(text, *parse(text)))
    except ValueError as e:
        print(f"{text:<14}{e}")
dt = datetime(2024, 3, 9, 14, 5, 7, 123000, tzinfo=timezone.utc)
print(dt.isoformat(), dt.strftime("%I:%M %p, day %j, week %V"), dt.timestamp(), dt.date(), dt.timetz())
print(datetime.combine(date(2024, 1, 1), time(8, 30)), datetime.fromisoformat("2024-03-09 14:05"), dt.replace(microsecond=0))
delta = timedelta(days=3, hours=5, seconds=61)
print(delta, delta.total_seconds(), delta / 2, delta // timedelta(hours=1), delta % timedelta(days=1), abs(-delta) == delta)
print(sorted([date(2024, 5, 1), date(2023, 5, 1)]), max(time(8), time(7, 59)), dt.astimezone(timezone(timedelta(hours=-5))).hour)
