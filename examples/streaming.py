"""A run as it happens: the model's words, the cells and their output, the calls of models, as typed events.

    python examples/streaming.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/streaming.py    a real model

`stream` yields the events of one completion. `on_event` gets those of every one, here for a bill. What a model or a
cell wrote is made inert before it is shown: it may hold escape sequences for your terminal.

It prints:

    model: I count the errors first.
    turn 1 printed: 3 errors, and \\x1b[2J clears no screen of yours
    model: Now the answer.
    turn 2 asks a model
    answer: 3 errors, all of one disk
    2 turns and 1 llm_query, 0.00 USD
"""

from __future__ import annotations

from collections import Counter

from model import model

from rlm_secure import RLM, CellCompleted, CellStarted, Event, ModelCalled, RunCompleted, TextDelta
from rlm_secure.inert import inert

LOG = "ok\nERROR disk 7\nok\nERROR disk 7\nERROR disk 7\nok"
QUESTION = "How many errors are there, and of what? Let a model read them."

#: What a model writes when it is asked this; the scripted backend plays it.
WRITTEN = [
    """\
I count the errors first.
```repl
errors = [line for line in context.splitlines() if line.startswith("ERROR")]
print(len(errors), "errors, and \\x1b[2J clears no screen of yours")
```""",
    """\
Now the answer.
```repl
of = llm_query("In at most three words, what are these errors of? " + "; ".join(errors))
final_answer(f"{len(errors)} errors, all of {of}")
```""",
]


def main() -> None:
    calls: Counter[str] = Counter()

    def count(event: Event) -> None:
        if isinstance(event, ModelCalled):
            calls[event.purpose] += 1

    said, cost = "", 0.0
    with RLM(*model(turns=WRITTEN, replies="one disk"), on_event=count) as rlm:
        for event in rlm.stream(LOG, QUESTION):
            match event:
                case TextDelta(text=text):
                    said += text  # a program that shows words as they come prints each piece
                case CellStarted(number=number, code=code):
                    print("model:", inert(said.partition("```")[0].strip()))
                    said = ""
                    if "llm_query" in code:
                        print(f"turn {number} asks a model")
                case CellCompleted(number=number, block=block) if block.result.stdout:
                    print(f"turn {number} printed:", inert(block.result.stdout.strip()))
                case RunCompleted(completion=completion) if completion is not None:
                    print("answer:", completion.response)
                    cost = completion.usage_summary.total_cost or 0.0
    print(f"{calls['turn']} turns and {calls['llm_query']} llm_query, {cost:.2f} USD")


if __name__ == "__main__":
    main()
