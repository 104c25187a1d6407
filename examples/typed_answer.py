"""An answer of a type: validated before the run ends, and known to type checkers.

    python examples/typed_answer.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/typed_answer.py    a real model

It prints:

    3 invoices, 1260.50 EUR in all
    the largest: 800.00 EUR, due 2026-01-31
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from model import model
from pydantic import BaseModel

from rlm_secure import RLM


class Invoice(BaseModel):
    amount: Decimal
    due: date


#: What a model writes when it is asked this; the scripted backend plays it.
WRITTEN = """\
```repl
rows = [line.split(",") for line in context.splitlines()[1:]]
final_answer([{"amount": amount, "due": due} for number, amount, due in rows])
```"""

TABLE = """\
number,amount,due
1,400.00,2026-01-15
2,60.50,2026-02-01
3,800.00,2026-01-31"""


def main() -> None:
    with RLM(*model(turns=[WRITTEN]), answer_schema=list[Invoice]) as rlm:
        invoices = rlm.completion(TABLE, root_prompt="Which invoices are there?").parsed
    print(len(invoices), "invoices,", sum(each.amount for each in invoices), "EUR in all")
    largest = max(invoices, key=lambda each: each.amount)
    print(f"the largest: {largest.amount} EUR, due {largest.due}")


if __name__ == "__main__":
    main()
