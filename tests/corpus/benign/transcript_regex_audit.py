import re

checks = {
    "emails": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "timestamps": r"\b\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\b",
    "server errors": r"status=5\d\d",
    "long requests": r"took [89]\d\dms",
    "questions": r"[^.!?\n]*\?",
}
summary = {}
for label, pattern in checks.items():
    found = re.findall(pattern, context)
    summary[label] = len(found)
    print(f"{label:<14}: {len(found):>4}   e.g. {found[0].strip()!r}" if found else f"{label:<14}: none")
assert summary["timestamps"] >= summary["server errors"]
answer["content"] = "; ".join(f"{k}={v}" for k, v in summary.items())
print(answer["content"])
