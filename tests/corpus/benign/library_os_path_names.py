import os

paths = ["/data/raw/sales_2024.csv", "reports/summary.final.md", "archive.tar.gz", "/tmp/", "notes"]
for path in paths:
    root, ext = os.path.splitext(path)
    print(f"{os.path.basename(path)!r:<22} dir={os.path.dirname(path)!r:<12} ext={ext!r:<6} root={os.path.basename(root)!r}")
joined = os.path.join("out", "2024", "05", "report.csv")
print(joined, os.path.split(joined), os.path.isabs(joined), os.path.isabs("/x"))
print(os.path.normpath("a/./b/../c//d"), os.path.commonprefix(["/usr/lib", "/usr/local"]), os.sep)
print(os.path.relpath("/a/b/c", "/a/d"), os.path.commonpath(["/a/b/c", "/a/b/d"]))
by_ext = {}
for path in paths:
    by_ext.setdefault(os.path.splitext(path)[1] or "(none)", []).append(os.path.basename(path))
print(by_ext)
