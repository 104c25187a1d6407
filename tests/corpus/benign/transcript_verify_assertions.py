# Double-check the numbers two independent ways before answering.
import re

by_split = sum(1 for line in context.splitlines() if len(line.split()) > 2 and line.split()[2] == "ERROR")
by_regex = len(re.findall(r"^\S+ \S+ ERROR \[", context, flags=re.M))
assert by_split == by_regex, (by_split, by_regex)
print(f"{by_split} errors, both ways")

codes = re.findall(r"status=(\d+)", context)
try:
    assert set(codes) <= {"200", "404"}, f"unexpected codes: {sorted(set(codes) - {'200', '404'})}"
except AssertionError as e:
    print("check failed:", e)
    print(e.args)

totals = {code: codes.count(code) for code in sorted(set(codes))}
assert sum(totals.values()) == len(codes)
print(totals)
