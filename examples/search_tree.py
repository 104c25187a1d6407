"""A search tree over cells: each candidate runs in a copy of the best sandbox so far, and the best copy goes on.

A copy takes milliseconds and has all variables. A candidate that spoils its data, or never ends, spoils its own copy
alone. Here the candidates are written down; in a program of yours a model proposes them at each step.

    python examples/search_tree.py

It prints:

    step 1: trim 2, drop 0, loop CellTimeout -> trim
    step 2: comma 3, upper 2 -> comma
    step 3: words 4, crash CellException -> words
    4 of 4 prices can be read: [10.0, 12.5, 7.25, 3.0]
    the root still has ' 10 '
"""

from __future__ import annotations

from contextlib import ExitStack

from rlm_secure import Sandbox

PRICES = [" 10 ", "12,5", "7.25\n", "three"]

#: Candidates for each step, as a model would propose them: the goal is that every price can be read as a number.
STEPS = [
    {
        "trim": "prices = [price.strip() for price in prices]",
        "drop": "prices.clear()",
        "loop": "while True: pass",
    },
    {
        "comma": "prices = [price.replace(',', '.') for price in prices]",
        "upper": "prices = [price.upper() for price in prices]",
    },
    {
        "words": "numbers = {'one': '1', 'two': '2', 'three': '3'}\nprices = [numbers.get(p, p) for p in prices]",
        "crash": "prices = [float(price) for price in prices]",
    },
]
SCORE = """\
def readable(text):
    try:
        return float(text) >= 0 and text == text.strip()
    except ValueError:
        return False

sum(map(readable, prices))
"""


def main() -> None:
    with ExitStack() as opened:
        root = best = opened.enter_context(Sandbox())
        root.set(prices=PRICES)
        for number, candidates in enumerate(STEPS, 1):
            scores: dict[str, int | str] = {}
            copies: dict[str, Sandbox] = {}
            for name, code in candidates.items():
                copies[name] = copy = opened.enter_context(best.fork())
                error = copy.run(code, timeout=0.5).error
                scores[name] = type(error).__name__ if error else copy.run(SCORE).check().value
            chosen = max(candidates, key=lambda name: score if isinstance(score := scores[name], int) else -1)
            best = copies.pop(chosen)
            for copy in copies.values():
                copy.close()
            print(f"step {number}:", ", ".join(f"{name} {scores[name]}" for name in candidates), "->", chosen)
        values = best.run("[float(price) for price in prices]").check().value
        print(f"{len(values)} of {len(PRICES)} prices can be read: {values}")
        print("the root still has", repr(root.get("prices")[0]))


if __name__ == "__main__":
    main()
