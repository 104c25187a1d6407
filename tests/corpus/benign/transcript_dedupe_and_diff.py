import difflib
import hashlib

seen = {}
duplicates = 0
for number, line in enumerate(context.splitlines()):
    key = line[34:64].strip()
    if not key:
        continue
    digest = hashlib.md5(key.encode()).hexdigest()[:8]
    if digest in seen:
        duplicates += 1
    else:
        seen[digest] = (number, key)
print(f"{len(seen)} distinct, {duplicates} repeated")
(_, first), (_, second) = list(seen.values())[-2:]
print(first, second, sep="\n")
print(round(difflib.SequenceMatcher(None, first, second).ratio(), 3))
before = ["alpha", "beta", "gamma", "delta"]
after = ["alpha", "beta 2", "delta", "epsilon"]
for line in difflib.unified_diff(before, after, "before", "after", lineterm=""):
    print(line)
