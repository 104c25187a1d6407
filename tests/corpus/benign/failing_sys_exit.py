import sys

required = {"context", "question"}
given = {"context"}
missing = required - given
if missing:
    print(f"error: missing {', '.join(missing)}", file=sys.stderr)
    print("stopping early")
    sys.exit(1)
print("running")
