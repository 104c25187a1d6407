"""A policy of one's own, and what it does to a run that wants more than it grants.

    python examples/own_policy.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/own_policy.py    a real model

It prints:

    statistics: import-module
    49 model calls were answered, 11 were not

The policy grants 50 calls, and the one to the root model that wrote the cell is among them.
"""

from __future__ import annotations

from pathlib import Path

from model import model

from rlm_secure import RLM, Sandbox

POLICY = Path(__file__).with_name("invoices.toml")

QUESTION = """\
Ask a model about each of "invoice 0" to "invoice 59", one after the other; go on where a reply begins with "Error:".
Answer as: 58 model calls were answered, 2 were not"""

#: What a model writes when it is asked this; the scripted backend plays it.
GREEDY = """\
```repl
replies = [llm_query(f"invoice {number}") for number in range(60)]
refused = sum(reply.startswith("Error:") for reply in replies)
final_answer(f"{len(replies) - refused} model calls were answered, {refused} were not")
```"""


def main() -> None:
    with Sandbox(policy=str(POLICY)) as sandbox:
        error = sandbox.run("import statistics").error
        assert error is not None
        print("statistics:", error.rule)
    with RLM(*model(turns=[GREEDY], replies="paid"), policy=str(POLICY)) as rlm:
        print(rlm.completion(QUESTION).response)


if __name__ == "__main__":
    main()
