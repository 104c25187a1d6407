"""Tools: Python functions of the host that cells may call, JSON in and JSON out.

The function runs on the host with all the host's rights: check what it is given, as here. A cell learns that a
tool failed, and never why.

    python examples/tools.py

It prints:

    Ada Lovelace: 3 open invoices, 1260.5 EUR
    the tool refused: invoices failed
"""

from __future__ import annotations

from typing import Any

from rlm_secure import Sandbox

INVOICES = {"C-1001": [400.0, 60.5, 800.0], "C-1002": []}
CUSTOMERS = {"C-1001": "Ada Lovelace", "C-1002": "Alan Turing"}


def customer(number: str) -> dict[str, Any]:
    """Name and number of one customer."""
    return {"number": number, "name": CUSTOMERS[number]}


def invoices(number: str) -> list[float]:
    """Amounts of a customer's open invoices."""
    if number not in INVOICES:
        raise PermissionError(f"{number!r} is none of the customers that this run is about")
    return INVOICES[number]


def main() -> None:
    with Sandbox(tools={"customer": customer, "invoices": invoices}) as sandbox:
        cell = """\
who = customer("C-1001")
amounts = invoices(who["number"])
print(f"{who['name']}: {len(amounts)} open invoices, {sum(amounts)} EUR")
"""
        print(sandbox.run(cell).check().stdout, end="")
        curious = "try:\n    invoices('../../etc/passwd')\nexcept Exception as error:\n    print(error)"
        print("the tool refused:", sandbox.run(curious).check().stdout.strip().split(":")[0])


if __name__ == "__main__":
    main()
