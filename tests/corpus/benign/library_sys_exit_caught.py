import sys


def run(steps):
    for name, code in steps:
        print("running", name)
        if code:
            sys.exit(code)
    return "finished"


for steps in ([("a", 0), ("b", 0)], [("a", 0), ("c", 3), ("d", 0)], [("e", "fatal: no input")]):
    try:
        print(run(steps))
    except SystemExit as e:
        print(f"SystemExit with {e.code!r}")
print(issubclass(SystemExit, Exception), issubclass(SystemExit, BaseException))
