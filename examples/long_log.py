"""A question over a log that no model could read at once.

    python examples/long_log.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/long_log.py    a real model

It prints:

    worker-17 failed first, at 03:10:17, with "disk full"; 4 others followed
"""

from __future__ import annotations

from model import model

from rlm_secure import RLM

QUESTION = "Which worker failed first, when, and why? How many others followed?"

#: What a model writes when it is asked this; the scripted backend plays it.
WRITTEN = [
    """\
```repl
import re
failures = re.findall(r"^(\\S+) (\\S+) ERROR (.+)$", context, re.MULTILINE)
print(len(context), "characters,", len(failures), "failures; first:", failures[0])
```""",
    """\
The cause is worth asking about: the message may only be a symptom.

```repl
time, worker, message = failures[0]
cause = llm_query(f"In at most three words, what is the cause of this error? {message}")
final_answer(f'{worker} failed first, at {time}, with "{cause}"; {len(failures) - 1} others followed')
```""",
]


def log() -> str:
    """Half a million lines, five of which matter."""
    lines = []
    for second in range(500_000):
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        bad = second in {11_417, 11_418, 11_500, 12_000, 400_000}
        text = "ERROR write failed: no space left on device" if bad else "INFO block written"
        lines.append(f"{clock} worker-{second % 50} {text}")
    return "\n".join(lines)


def main() -> None:
    with RLM(*model(turns=WRITTEN, replies="disk full")) as rlm:
        print(rlm.completion(log(), root_prompt=QUESTION).response)


if __name__ == "__main__":
    main()
