from collections import Counter
from datetime import datetime
events = ["2023-11-02", "2023-11-30", "2023-12-25", "2024-01-01", "2024-01-31", "2024-01-15"]
by_month = Counter(datetime.strptime(e, "%Y-%m-%d").strftime("%Y-%m") for e in events)
for month, n in sorted(by_month.items()):
    print(month, "#" * n)
quarters = Counter(f"{d.year}Q{(d.month - 1) // 3 + 1}" for d in map(datetime.fromisoformat, events))
print(dict(quarters))
