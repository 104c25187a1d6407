import argparse

parser = argparse.ArgumentParser(prog="report", description="Make a report.")
parser.add_argument("files", nargs="+")
parser.add_argument("--top", type=int, default=3)
parser.add_argument("-v", "--verbose", action="store_true")
parser.add_argument("--format", choices=["text", "json"], default="text")
args = parser.parse_args(["a.log", "b.log", "--top", "5", "-v"])
print(args.files, args.top, args.verbose, args.format)
print(vars(args))
try:
    parser.parse_args(["a.log", "--top", "many"])
except SystemExit as e:
    print("exit", e.code)
