"""A policy of one's own, and what it does to a run that wants more than it grants.

    python examples/own_policy.py

It prints:

    statistics: import-module
    49 model calls were answered, 11 were not

The policy grants 50 calls, and the one to the root model that wrote the cell is among them.
"""

from __future__ import annotations

from pathlib import Path

from rlm_secure import RLM, Sandbox

POLICY = Path(__file__).with_name("invoices.toml")

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
    with RLM(backend="scripted", backend_kwargs={"turns": [GREEDY], "replies": "paid"}, policy=str(POLICY)) as rlm:
        print(rlm.completion("sixty invoices").response)


if __name__ == "__main__":
    main()
