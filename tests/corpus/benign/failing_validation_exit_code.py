import sys


def check(rows):
    bad = [i for i, row in enumerate(rows) if len(row) != 3]
    if bad:
        sys.stderr.write(f"rows {bad} are incomplete\n")
        return 1
    return 0


rows = [line.split(",") for line in "a,b,c\nd,e\nf,g,h".splitlines()]
status = check(rows)
print("status", status)
sys.exit(status)
