import re
from typing import NamedTuple
from itertools import groupby
from operator import attrgetter


class Event(NamedTuple):
    user: str
    action: str
    status: int
    took: int = 0

    @property
    def ok(self) -> bool:
        return self.status < 400

    def label(self) -> str:
        return f"{self.user}/{self.action}"


pattern = r"user=(\w+) action=(\w+) status=(\d+) took (\d+)ms"
events = [Event(u, a, int(s), int(t)) for u, a, s, t in re.findall(pattern, context)]
events.sort(key=attrgetter("user", "action", "took"))
for user, group in groupby(events, key=attrgetter("user")):
    group = list(group)
    bad = [e for e in group if not e.ok]
    worst = max(group, key=attrgetter("took"))
    print(f"{user:<6} n={len(group):>3} failed={len(bad):>2} slowest={worst.label()} ({worst.took} ms)")
first = events[0]
print(first._replace(status=500), first._asdict(), Event._fields, sep="\n")
user, *rest = first
print(user, rest)
