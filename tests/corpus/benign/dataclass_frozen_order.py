from dataclasses import dataclass, replace, asdict, astuple

@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    patch: int = 0

    @classmethod
    def parse(cls, text):
        return cls(*map(int, text.split(".")))

    def __str__(self):
        return f"{self.major}.{self.minor}.{self.patch}"

versions = [Version.parse(t) for t in ("1.2.3", "1.10.0", "0.9.12", "1.2")]
print([str(v) for v in sorted(versions)])
print(max(versions), replace(versions[0], patch=9), asdict(versions[1]), astuple(versions[2]))
print(len({Version(1), Version(1), Version(2)}))
try:
    versions[0].major = 5
except AttributeError as e:
    print("frozen:", e)
