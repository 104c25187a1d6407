import re
from dataclasses import dataclass, field, asdict
from datetime import datetime
from typing import Optional


@dataclass
class LogEntry:
    when: datetime
    level: str
    module: str
    user: Optional[str] = None
    took_ms: int = 0
    tags: list[str] = field(default_factory=list)

    @property
    def is_slow(self) -> bool:
        return self.took_ms > 800


PATTERN = re.compile(
    r"(?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<level>[A-Z]+) \[(?P<module>[^\]]+)\].*?"
    r"user=(?P<user>\w+).*?took (?P<took>\d+)ms"
)


def parse(line: str) -> Optional[LogEntry]:
    m = PATTERN.match(line)
    if not m:
        return None
    entry = LogEntry(
        when=datetime.strptime(m["when"], "%Y-%m-%d %H:%M:%S"),
        level=m["level"],
        module=m["module"],
        user=m["user"],
        took_ms=int(m["took"]),
    )
    if entry.is_slow:
        entry.tags.append("slow")
    return entry


entries = [e for e in map(parse, context.splitlines()) if e]
print(len(entries), "entries;", sum(e.is_slow for e in entries), "slow")
slowest = max(entries, key=lambda e: e.took_ms)
print(slowest)
print(asdict(slowest)["when"].isoformat(), asdict(slowest)["tags"])
