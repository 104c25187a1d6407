from collections import defaultdict
from pathlib import Path, PurePosixPath

listing = """docs/readme.md
docs/guide/intro.md
src/app.py
src/util/text.py
src/util/data.json
LICENSE"""
paths = [PurePosixPath(line) for line in listing.splitlines()]
by_suffix = defaultdict(list)
for path in paths:
    by_suffix[path.suffix or "(none)"].append(path)
for suffix, group in sorted(by_suffix.items()):
    print(f"{suffix:<8}{[str(p) for p in group]}")
depth = {str(p): len(p.parents) - 1 for p in paths}
print(depth, max(depth.values()))
print([p.with_name(p.stem + "_new" + p.suffix).as_posix() for p in paths if "util" in p.parts])
print(Path("a") / "b.txt", Path("reports/final.txt").name, Path("x/y.csv").exists())
