from pathlib import PurePath, PurePosixPath

files = [PurePosixPath(p) for p in ("/srv/logs/app.log", "/srv/logs/app.log.1", "/srv/data/users.json", "/srv/readme.MD")]
for f in files:
    print(f"{f.name:<12} stem={f.stem:<8} suffix={f.suffix:<6} parent={f.parent}")
print([str(f.with_suffix(".bak")) for f in files[:2]])
base = PurePosixPath("/srv")
print([str(f.relative_to(base)) for f in files if f.is_relative_to(base)])
print((base / "new" / "file.txt").as_posix(), PurePosixPath("a/b/../c").parts)
print(sorted(files)[0], files[0] == PurePosixPath("/srv/logs/app.log"), files[0].match("*.log"))
print(len({f.parent for f in files}), PurePosixPath("x.tar.gz").suffixes, PurePath("a", "b").name)
