"""A question over a log that no model could read at once.

    python examples/long_log.py                             offline, with a written model
    python examples/long_log.py --model gpt-5-mini          OpenAI; OPENAI_API_KEY is in the environment
    python examples/long_log.py --model qwen3 --base-url http://localhost:8000/v1

Offline it prints:

    worker-17 failed first, at 03:10:17, with "disk full"; 4 others followed
"""

from __future__ import annotations

import argparse

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
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    chosen = parser.parse_args()
    if chosen.model:
        options = {"model_name": chosen.model, "base_url": chosen.base_url}
        rlm = RLM(backend="openai", backend_kwargs={key: value for key, value in options.items() if value})
    else:
        rlm = RLM(backend="scripted", backend_kwargs={"turns": WRITTEN, "replies": "disk full"})
    with rlm:
        print(rlm.completion(log(), root_prompt=QUESTION).response)


if __name__ == "__main__":
    main()
