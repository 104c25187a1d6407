import re
from collections import Counter
errors = [line for line in context.splitlines() if " ERROR " in line]
normalised = Counter()
for line in errors:
    message = line.split("] ", 1)[-1]
    message = re.sub(r"\d+", "N", message)
    message = re.sub(r"user=\w+", "user=U", message)
    normalised[message] += 1
for message, n in normalised.most_common(5):
    print(f"{n:3} x {message}")
