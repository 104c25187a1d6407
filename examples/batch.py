"""Many prompts under one allowance, side by side: in threads, or on the nodes of a Ray cluster.

    python examples/batch.py                                       offline, in threads
    python examples/batch.py --engine ray                          the same on Ray (pip install 'rlm-secure[ray]')
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/batch.py    a real model

The file of one invoice is missing at first. Its item has the error, the others have their answers, and a second batch
with `resume` runs that one alone.

It prints:

    january: 1,200.50
    february: ContextError
    march: 310.25
    a second batch ran 1 prompt: 99.00
"""

from __future__ import annotations

import argparse
from pathlib import Path

from model import model

from rlm_secure import RLM, Item

JANUARY = "position,amount\n1,1000.0\n2,200.5"
FEBRUARY = "position,amount\n1,99.0"
MARCH = "position,amount\n1,300.0\n2,10.25"
QUESTION = "What is the sum of this invoice? Answer as in 1,234.50"

#: What a model writes when it is asked this; each run of the batch plays it from its beginning.
WRITTEN = """\
```repl
amounts = [float(line.split(",")[1]) for line in context.splitlines()[1:]]
final_answer(f"{sum(amounts):,.2f}")
```"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=["threads", "ray"], default="threads")
    engine = parser.parse_args().engine
    invoices: dict[str, str | Path] = {"january": JANUARY, "february": Path("february.csv"), "march": MARCH}
    with RLM(*model(turns=[WRITTEN])) as rlm:
        items = rlm.batch(list(invoices.values()), QUESTION, engine=engine)
        for month, item in zip(invoices, items, strict=True):
            print(f"{month}: {type(item.error).__name__ if item.error else item.response}")

        invoices["february"] = FEBRUARY  # it has come
        ran: list[Item[str]] = []
        items = rlm.batch(list(invoices.values()), QUESTION, engine=engine, resume=items, on_item=ran.append)
        print(f"a second batch ran {len(ran)} prompt: {items[1].response}")


if __name__ == "__main__":
    main()
