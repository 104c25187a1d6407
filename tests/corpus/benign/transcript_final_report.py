from datetime import datetime
from io import StringIO
import re

stamps = [datetime.fromisoformat(s) for s in re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", context, re.M)]
took = [int(t) for t in re.findall(r"took (\d+)ms", context)]

report = StringIO()
print("REPORT", file=report)
print("=" * 6, file=report)
report.write(f"period:   {stamps[0]:%d %b %Y %H:%M} to {stamps[-1]:%d %b %Y %H:%M}\n")
report.write(f"requests: {len(took)}\n")
span = stamps[-1] - stamps[0]
hours, rest = divmod(span.total_seconds(), 3600)
print(f"span:     {int(hours)}h {int(rest // 60)}min", file=report)
ordered = sorted(took)
for name, q in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
    print(f"{name + ':':<10}{ordered[int(q * (len(ordered) - 1))]:>4}ms", file=report)
text = report.getvalue()
print(text, end="")
report.seek(0)
print(sum(1 for _ in report), "lines,", len(text), "characters")
answer["content"] = text
