# Find the first log line of day 2 with as few looks as possible.
import bisect

log = [line for line in context.splitlines() if line[:4].isdigit()]
stamps = [line[:19] for line in log]
assert stamps == sorted(stamps), "the log is not in order"
first_of_day_two = bisect.bisect_left(stamps, "2024-05-02")
if first_of_day_two < len(log):
    print(first_of_day_two, "->", log[first_of_day_two][:60])
else:
    print("all on day 1; last:", stamps[-1])
looks = 0
lo, hi = 0, len(stamps)
while lo < hi:
    mid = (lo + hi) // 2
    looks += 1
    if stamps[mid] < "2024-05-01 12":
        lo = mid + 1
    else:
        hi = mid
print(f"first after noon: {stamps[lo]} found in {looks} looks of {len(stamps)}")
