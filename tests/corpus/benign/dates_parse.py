from datetime import datetime, timedelta, timezone

samples = ["2024-01-15", "15/01/2024", "Jan 15, 2024", "2024-01-15T10:30:00", "not a date"]
formats = ["%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%Y-%m-%dT%H:%M:%S"]

def parse(text):
    for fmt in formats:
        try:
            return datetime.strptime(text, fmt)
        except ValueError:
            pass
    return None

for sample in samples:
    print(sample, "->", parse(sample))
print(datetime.fromisoformat("2024-03-01T12:00:00+02:00").astimezone(timezone.utc).isoformat())
print((datetime(2024, 3, 1) - datetime(2024, 2, 1)).days, timedelta(hours=49, minutes=5))
