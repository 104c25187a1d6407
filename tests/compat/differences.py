"""What differs from upstream on purpose: differences.toml, and the page of it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: Upstream's version, the one that `.ci/upstream` downloads.
VERSION = "0.1.3"
DOCUMENT = HERE.parents[1] / "docs/pages/migration/differences.md"

_HEAD = """# What differs from rlms on purpose

Upstream's own tests, of `rlms` {version}, pass against rlm_secure, but for the {number} below: each relied on something that
a wall closes, or that works in another way here. [Coming from rlms](rlms.md) says how to change a program;
[every name](names.md) has the parameters and modules.

| what differs | of upstream's tests |
| --- | ---: |
{rows}

`python -m tests.compat PATH` runs upstream's tests from a checkout, `.ci/upstream` from the source distribution. Either
fails for a difference that is not here, for one that is here and is none any more, and for a test that is skipped and not
named. {skipped} tests are not compared, and come last.

<!-- Written by `python -m tests.compat --write` from tests/compat/differences.toml. -->
"""


@dataclass(frozen=True)
class Difference:
    """One reason, in one sentence or a few, and the tests of upstream that differ, or are skipped, for it."""

    title: str
    reason: str
    tests: tuple[str, ...]
    group: str = ""


def read(kind: str = "difference") -> tuple[Difference, ...]:
    """The differences, or with "skipped" what is not compared, in the order of the file."""
    entries = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))[kind]
    return tuple(
        Difference(each["title"], " ".join(each["reason"].split()), tuple(each["tests"]), each["group"]) for each in entries
    )


def page(differences: tuple[Difference, ...], skipped: tuple[Difference, ...]) -> str:
    """The page for users."""
    number, other = (sum(len(each.tests) for each in listed) for listed in (differences, skipped))
    groups: dict[str, list[Difference]] = {}
    for each in differences:
        groups.setdefault(each.group, []).append(each)
    ordered = [each for listed in groups.values() for each in listed]
    rows = "\n".join(f"| [{each.title}](#{_anchor(each)}) | {len(each.tests)} |" for each in ordered)
    parts = [_HEAD.format(version=VERSION, number=number, rows=rows, skipped=other)]
    for title, listed in {**groups, "Not compared": list(skipped)}.items():
        parts += [f"## {title}\n", *(_section(each) for each in listed)]
    return "\n".join(parts)


def _anchor(difference: Difference) -> str:
    return "-".join(re.findall(r"\w+", difference.title.lower().replace("'", "")))


def _section(difference: Difference) -> str:
    """The reason, and the tests, which a reader opens."""
    number = len(difference.tests)
    rows = (f"    - `{test}`" for test in difference.tests)
    shown = [f'??? note "{number} of upstream\'s tests"', "", *rows, ""]
    return "\n".join([f"### {difference.title} {{ #{_anchor(difference)} }}\n", f"{difference.reason}\n", *shown])
