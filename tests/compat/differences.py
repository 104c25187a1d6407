"""What differs from upstream on purpose: differences.toml, and the page of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: Upstream's version, the one that `.ci/upstream` downloads.
VERSION = "0.1.3"
DOCUMENT = HERE.parents[1] / "docs/pages/migration/differences.md"

_HEAD = """# What differs from upstream

`rlm_secure.compat` serves the module paths and names of upstream's package (`rlms` on PyPI, `import rlm`):

```python
import rlm_secure.compat

rlm_secure.compat.install()  # from here on, `import rlm` gives rlm_secure's
```

or, without a second name, `import rlm_secure.compat as rlm`. Classes and functions are rlm_secure's own, under both
names; what upstream keeps private, the classes of its TCP server among it, is not served. Upstream's own tests (of
version {version}) pass against it, but for the {number} below, which differ on purpose, and {skipped} that are not compared, which
come last: `python -m tests.compat PATH` runs them from a checkout, `.ci/upstream` from the source distribution, and
either fails for any other difference, and for any other test that is skipped.

<!-- Written by `python -m tests.compat --write` from tests/compat/differences.toml. -->
"""


@dataclass(frozen=True)
class Difference:
    """One reason, in one sentence or a few, and the tests of upstream that differ, or are skipped, for it."""

    title: str
    reason: str
    tests: tuple[str, ...]


def read(kind: str = "difference") -> tuple[Difference, ...]:
    """The differences, or with "skipped" what is not compared, in the order of the file."""
    entries = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))[kind]
    return tuple(Difference(each["title"], " ".join(each["reason"].split()), tuple(each["tests"])) for each in entries)


def page(differences: tuple[Difference, ...], skipped: tuple[Difference, ...]) -> str:
    """The page for users."""
    number, other = (sum(len(each.tests) for each in listed) for listed in (differences, skipped))
    head = _HEAD.format(version=VERSION, number=number, skipped=other)
    return "\n".join([head, *(_section(each) for each in (*differences, *skipped))])


def _section(difference: Difference) -> str:
    rows = (f"| `{test}` |" for test in difference.tests)
    return "\n".join([f"## {difference.title}\n", f"{difference.reason}\n", "| test |", "| --- |", *rows, ""])
