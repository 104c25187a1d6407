import difflib

commands = ["status", "start", "stop", "restart", "list", "help"]
for typed in ("stats", "restar", "lists", "xyzzy"):
    close = difflib.get_close_matches(typed, commands, n=2)
    print(f"{typed!r}: did you mean {' or '.join(close)}?" if close else f"{typed!r}: unknown command")
old = "the quick brown fox\njumps over\nthe lazy dog\n".splitlines(keepends=True)
new = "the quick red fox\njumps over\nthe lazy dog\nagain\n".splitlines(keepends=True)
print("".join(difflib.unified_diff(old, new, fromfile="old.txt", tofile="new.txt")))
for line in difflib.ndiff(["one", "two"], ["one", "tow"]):
    print(line)
s = difflib.SequenceMatcher(None, "private", "primate")
print(round(s.ratio(), 4), [(op, s.a[i1:i2], s.b[j1:j2]) for op, i1, i2, j1, j2 in s.get_opcodes() if op != "equal"])
