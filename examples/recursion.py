"""Recursion: a cell gives parts of its context to child runs, each with a model, a session and cells of its own.

    python examples/recursion.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/recursion.py    a real model

`max_depth=2` lets the run start children that run code; the children's own `rlm_query` would be answered by a plain
model. All of them share one allowance of calls, tokens and money.

It prints:

    4 child runs, down to depth 1
    east returned 714 of them, most of all regions
"""

from __future__ import annotations

from model import model

from rlm_secure import RLM, Event, SubcallStarted

REGIONS = {"north": 10, "east": 7, "south": 12, "west": 9}  # one order in so many is returned
QUESTION = "Which region returned most orders, and how many? Have a child run look at each region."

#: What a model writes when it is asked this. The children's turns are played anew by each child.
ROOT = """\
```repl
prompts = [f"How many orders of {name} were returned? Answer with the number alone.\\n{orders}"
           for name, orders in context.items()]
returned = dict(zip(context, map(int, rlm_query_batched(prompts))))
worst = max(returned, key=returned.get)
final_answer(f"{worst} returned {returned[worst]} of them, most of all regions")
```"""
CHILD = """\
```repl
final_answer(sum(line.endswith("returned") for line in context.splitlines()))
```"""


def orders(one_in: int) -> str:
    """Orders of one region, as lines; too many for a model to count."""
    return "\n".join(f"order {number}: {'kept' if number % one_in else 'returned'}" for number in range(1, 5001))


def main() -> None:
    started: list[SubcallStarted] = []

    def listen(event: Event) -> None:
        if isinstance(event, SubcallStarted):
            started.append(event)

    context = {name: orders(one_in) for name, one_in in REGIONS.items()}
    with RLM(*model(turns=[ROOT], child_turns=[CHILD]), max_depth=2, on_event=listen) as rlm:
        answer = rlm.completion(context, root_prompt=QUESTION).response
    print(f"{len(started)} child runs, down to depth {max((event.depth for event in started), default=0)}")
    print(answer)


if __name__ == "__main__":
    main()
