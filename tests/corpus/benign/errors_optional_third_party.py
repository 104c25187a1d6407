HAVE = {}
for package in ("tabulate", "rich"):
    HAVE[package] = False
try:
    import tabulate
    HAVE["tabulate"] = True
except ImportError as e:
    print("falling back:", e.__class__.__name__)


def render(rows, headers):
    widths = [max(len(str(r[i])) for r in [headers, *rows]) for i in range(len(headers))]
    out = [" ".join(str(h).ljust(w) for h, w in zip(headers, widths))]
    out += [" ".join(str(c).ljust(w) for c, w in zip(r, widths)) for r in rows]
    return "\n".join(line.rstrip() for line in out)


print(render([("alice", 3), ("bob", 12)], ("user", "n")))
print(HAVE)
