import json
from dataclasses import dataclass, asdict, field
from datetime import date
from enum import Enum


class Kind(str, Enum):
    BUG = "bug"
    FEATURE = "feature"


@dataclass
class Issue:
    number: int
    kind: Kind
    opened: date
    labels: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, text: str) -> "Issue":
        raw = json.loads(text)
        return cls(raw["number"], Kind(raw["kind"]), date.fromisoformat(raw["opened"]), raw.get("labels", []))

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)


issue = Issue(12, Kind.BUG, date(2024, 4, 1), ["ui"])
text = issue.to_json()
print(text)
print(Issue.from_json(text) == issue, Issue.from_json(text).kind is Kind.BUG)
for bad in ('{"number": 1, "kind": "joke", "opened": "2024-01-01"}', '{"number": 1}', '{"number": 1, "kind": "bug", "opened": "soon"}'):
    try:
        Issue.from_json(bad)
    except (KeyError, ValueError) as e:
        print(type(e).__name__, e)
