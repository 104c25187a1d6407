"""An agent with tools: in each step its model calls one of your functions, until it calls `final_answer`.

    python examples/react_tools.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/react_tools.py    a real model

`invoices` runs on the host with all the host's rights; its arguments are checked against its annotations first.
A call that is wrong is told to the model, which goes on. The tool `python` is a session in the sandbox.

It prints:

    1: invoices({"customer": 7}) -> Error: invoices: customer: Input should be a valid string
    2: invoices({"customer": "C-1001"}) -> [400.0, 60.5, 800.0]
    3: python({"code": "sum([400.0, 60.5, 800.0])"}) -> 1260.5
    4: final_answer({"answer": 1260.5})
    the answer is 1260.5
"""

from __future__ import annotations

import json

from model import model

from rlm_secure.agents import ReActAgent
from rlm_secure.tools import ToolError

INVOICES = {"C-1001": [400.0, 60.5, 800.0], "C-1002": []}

#: What a model writes when it is asked this; the scripted backend plays it.
REPLIES = [
    'Thought: I need the invoices.\nAction: invoices\nAction Input: {"customer": 7}',
    'Thought: Customers have names.\nAction: invoices\nAction Input: {"customer": "C-1001"}',
    'Thought: Now the sum.\nAction: python\nAction Input: {"code": "sum([400.0, 60.5, 800.0])"}',
    'Action: final_answer\nAction Input: {"answer": 1260.5}',
]


def invoices(customer: str) -> list[float]:
    """Amounts of a customer's open invoices, in EUR."""
    if customer not in INVOICES:
        raise ToolError(f"there is no customer {customer!r}")
    return INVOICES[customer]


def main() -> None:
    agent = ReActAgent([invoices], *model(turns=REPLIES), python=True, answer_schema=float)
    completion = agent.run("What does C-1001 owe?")
    for step in completion.steps:
        told = "" if step.observation is None else f" -> {step.observation}"
        print(f"{step.number}: {step.action}({json.dumps(step.input)}){told}")
    print("the answer is", completion.parsed)


if __name__ == "__main__":
    main()
