import time
from datetime import datetime

start = time.time()
t0 = time.perf_counter()
m0 = time.monotonic()
total = sum(i * i for i in range(10_000))
time.sleep(0)
elapsed = time.perf_counter() - t0
print(total, elapsed >= 0, time.monotonic() >= m0, time.time() >= start, isinstance(time.time_ns(), int))
stamp = 1_700_000_000
print(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(stamp)))
parts = time.gmtime(stamp)
print(parts.tm_year, parts.tm_yday, parts[3], time.strptime("03 Mar 2021", "%d %b %Y").tm_wday)
print(datetime.fromtimestamp(stamp).isoformat() == datetime.utcfromtimestamp(stamp).isoformat())
def human(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m {seconds:02}s" if hours else f"{minutes}m {seconds:02}s"
print(human(59), human(3661), human(125))
