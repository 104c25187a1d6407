import re
from collections import Counter
pattern = re.compile(r"\bstatus=(\d{3})\b")
codes = Counter(int(c) for c in pattern.findall(context))
classes = Counter(code // 100 for code in codes.elements())
print(sorted(codes.items()))
print({f"{k}xx": v for k, v in sorted(classes.items())})
error_rate = sum(v for k, v in codes.items() if k >= 400) / max(1, sum(codes.values()))
print(f"error rate: {error_rate:.2%}")
