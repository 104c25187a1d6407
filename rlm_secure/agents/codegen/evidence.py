"""Whether the code of a read question left its table as it was: digests before and after it.

The table is bound under a name that no cell can read or bind. Before the code ran and after it, the session's own
program takes the digest of that object, and asks no object what it is: a list, a text or a number counts only if it is
of exactly that class, and a DataFrame with its index and its types (guest/session/digest.py). Equal digests say that
the object which the code was given holds the same values in the same order, by whatever name, method or alias the code
used it. They do not say that the code never changed it and changed it back, and they rest on the session's program:
code that broke out of the language could answer otherwise. The host's own table is out of reach in any case, as it
never enters a session but as a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """The digests of the table before and after the code ran, by the name under which the code has it.

    "" stands for a table that is no plain data any more.
    """

    before: Mapping[str, str]
    """The digests before the code ran."""
    after: Mapping[str, str]
    """The digests after it ran."""
    rows: int
    """How many rows the table has."""

    @property
    def equal(self) -> bool:
        """Whether the table is as it was. Without a digest that says so, it is not."""
        return bool(self.before) and all(self.before.values()) and dict(self.before) == dict(self.after)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        return {"before": dict(self.before), "after": dict(self.after), "equal": self.equal, "rows": self.rows}
