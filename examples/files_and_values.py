"""Files into a session and out of it, values of any plain kind, and several sessions at once.

    python examples/files_and_values.py

It prints:

    north: said by its cell while it runs
    south: said by its cell while it runs
    north: 7 units, last on 2026-03-02
    south: 4 units, last on 2026-01-20
    summary.json has 46 bytes
    too large: ValueTooLarge
"""

from __future__ import annotations

import asyncio
from datetime import date

from rlm_secure import AsyncSandbox, REPLResult, Sandbox, ValueTooLarge

SALES = """\
region,units,day
north,3,2026-01-05
south,4,2026-01-20
north,4,2026-03-02
"""

COUNT = """\
import csv
from datetime import date

with files.open("sales.csv") as table:
    rows = [row for row in csv.DictReader(table) if row["region"] == region]
print(f"{region}: said by its cell while it runs")
units = sum(int(row["units"]) for row in rows)
(units, max(date.fromisoformat(row["day"]) for row in rows))
"""

SUMMARY = """\
import json

with files.open("summary.json", "w") as summary:
    json.dump({name: {"units": units} for name, (units, _) in counted.items()}, summary)
many = list(range(500_000))
"""


async def count(region: str) -> REPLResult:
    async with AsyncSandbox(policy="standard") as sandbox:
        await sandbox.put("sales.csv", SALES)
        await sandbox.set(region=region)
        return await sandbox.run(COUNT)


async def count_all(regions: list[str]) -> dict[str, tuple[int, date]]:
    results = await asyncio.gather(*(count(region) for region in regions))
    for result in results:
        print(result.check().stdout, end="")
    return {region: result.value for region, result in zip(regions, results, strict=True)}


def main() -> None:
    counted = asyncio.run(count_all(["north", "south"]))
    for region, (units, last) in counted.items():
        print(f"{region}: {units} units, last on {last}")
    with Sandbox(policy="standard") as sandbox:
        sandbox.set(counted=counted)
        result = sandbox.run(SUMMARY).check()
    print(f"summary.json has {len(result.files['summary.json'])} bytes")
    try:
        result.values["many"]
    except ValueTooLarge as error:
        print("too large:", type(error).__name__)


if __name__ == "__main__":
    main()
