import re
from dataclasses import dataclass, field

CHANGELOG = """
## 2.1.0 (2024-03-01)
### Added
- Export to CSV (#41)
- Dark mode (#38, #40)
### Fixed
- Crash on an empty file (#44)

## 2.0.1 (2024-01-15)
### Fixed
- Typo in the help

## 2.0.0 (2023-12-24)
### Removed
- Python 3.7
### Added
- Plugins (#30)
"""


@dataclass
class Release:
    version: tuple[int, ...]
    date: str
    sections: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self):
        return ".".join(map(str, self.version))


releases = []
for line in CHANGELOG.splitlines():
    if m := re.match(r"## (\d+(?:\.\d+)*) \(([\d-]+)\)", line):
        releases.append(Release(tuple(map(int, m[1].split("."))), m[2]))
    elif m := re.match(r"### (\w+)", line):
        section = releases[-1].sections.setdefault(m[1], [])
    elif line.startswith("- "):
        section.append(line[2:])
for r in releases:
    print(f"{r!s:<6} {r.date} " + ", ".join(f"{len(v)} {k.lower()}" for k, v in r.sections.items()))
issues = sorted({int(n) for r in releases for v in r.sections.values() for e in v for n in re.findall(r"#(\d+)", e)})
print(issues, max(releases, key=lambda r: r.version) is releases[0])
print([str(r) for r in releases if "Removed" in r.sections], releases[-1])
