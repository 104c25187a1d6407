import re
import sys
from collections import Counter


def parse(lines):
    for line in lines:
        parts = line.split()
        if len(parts) > 5 and re.fullmatch(r"\d{4}-\d\d-\d\d", parts[0]):
            fields = dict(p.split("=", 1) for p in parts if "=" in p)
            yield {"day": parts[0], "level": parts[2], **fields}


def main() -> int:
    rows = list(parse(context.splitlines()))
    if not rows:
        print("no rows", file=sys.stderr)
        return 1
    by_user = Counter(r["user"] for r in rows)
    by_status = Counter(r["status"] for r in rows)
    print(f"{len(rows)} rows, {len(by_user)} users")
    for user, n in sorted(by_user.items(), key=lambda kv: (-kv[1], kv[0])):
        share = n / len(rows)
        print(f"{user:>6} {n:>4} {share:>6.1%} {'*' * int(share * 40)}")
    print(dict(sorted(by_status.items())))
    return 0


if __name__ == "__main__":
    code = main()
    print("exit code", code)
