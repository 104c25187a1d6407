"""What a question names of a table: columns, a condition, a ranking. Only names that the table has are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_NAME: Final = {"type": "string", "maxLength": 500}
_VALUE: Final = {"type": ["string", "number", "boolean", "null"]}
#: The stage of each slot, and the form of its reply.
SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "slots_column": {
        "type": "object",
        "properties": {"columns": {"type": "array", "items": _NAME, "maxItems": 100}},
        "required": ["columns"],
    },
    "slots_lookup": {
        "type": ["object", "null"],
        "properties": {"column": _NAME, "value": _VALUE},
        "required": ["column", "value"],
    },
    "slots_ranking": {
        "type": ["object", "null"],
        "properties": {
            "column": _NAME,
            "order": {"enum": ["ascending", "descending"]},
            "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000},
        },
        "required": ["column", "order"],
    },
}


@dataclass(frozen=True, slots=True)
class Slots:
    """`columns`: names of the table. `lookup`: {"column", "value"} or None. `ranking`: {"column", "order", "count"}."""

    columns: tuple[str, ...] = ()
    lookup: Mapping[str, Any] | None = None
    ranking: Mapping[str, Any] | None = None

    def hints(self) -> dict[str, Any]:
        """What there is, as JSON-safe data for a prompt."""
        known = {"columns": list(self.columns), "lookup": self.lookup, "ranking": self.ranking}
        return {name: value for name, value in known.items() if value}


def filled(names: Iterable[str], get: Callable[[str, Mapping[str, Any]], Any]) -> Slots:
    """The slots of a question. `get(stage, schema)` is the stage's value, or None. Columns are found in any case."""
    exact = set(names)
    alike: dict[str, str | None] = {}
    for name in exact:
        key = name.casefold().strip()
        alike[key] = None if key in alike else name  # which of two is meant cannot be told

    def real(name: str) -> str | None:
        return name if name in exact else alike.get(name.casefold().strip())

    column, lookup, ranking = (get(stage, schema) for stage, schema in SCHEMAS.items())
    columns = tuple(dict.fromkeys(found for each in (column or {}).get("columns", ()) if (found := real(each))))
    condition = rank = None
    if lookup is not None and (where := real(lookup["column"])):
        condition = {"column": where, "value": lookup["value"]}
    if ranking is not None and (where := real(ranking["column"])):
        rank = {"column": where, "order": ranking["order"], "count": ranking.get("count")}
    return Slots(columns, condition, rank)
