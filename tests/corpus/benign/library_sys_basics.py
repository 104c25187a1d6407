import sys

print("Python", ".".join(map(str, sys.version_info[:1])), sys.version_info >= (3, 8), sys.version.split(".")[0])
print(sys.maxsize == 2 ** 63 - 1, sys.maxsize.bit_length(), sys.byteorder in ("little", "big"))
print("warning: this goes to stderr", file=sys.stderr)
sys.stderr.write("and this\n")
sys.stdout.write("written directly\n")

def main(argv=None):
    argv = argv if argv is not None else []
    if not argv:
        print("usage: count FILE", file=sys.stderr)
        return 2
    print(f"counting {argv[0]}")
    return 0

code = main() or main(["data.txt"])
print("exit code:", code)
print(sys.float_info.max > 1e308, sys.float_info.epsilon, sys.getrecursionlimit() >= 500)
best = sys.maxsize
for x in (5, 3, 9):
    best = min(best, x)
print(best)
