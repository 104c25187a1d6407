"""A chat that lasts: with `persistent=True` each question finds the variables that the ones before it left.

    python examples/chat.py                                             offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/chat.py          a real model
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/chat.py --ask    your own questions, a line each

The second and the third question bring no context: they are about the first one's, which the session still has. In its
variables `history_0`, `history_1` and so on the model also finds what was said before.

It prints:

    > Which words come up most, apart from short ones?
    whale (5), ship (3)
    > And how often is the first of them near the second?
    2 times in one sentence
    > What did I ask first?
    Which words come up most, apart from short ones?
"""

from __future__ import annotations

import sys

from model import model

from rlm_secure import RLM

BOOK = """\
The whale rose beside the ship. Nobody on the ship had seen a whale before. The captain wrote down whale after whale,
and slept. In the morning the harbour lay ahead, and the whale was gone. The ship was paid off."""

#: Questions, and what a model writes when it is asked them.
ASKED = {
    "Which words come up most, apart from short ones?": """\
```repl
import re
from collections import Counter
words = Counter(word for word in re.findall(r"[a-z]+", context.lower()) if len(word) > 3)
first, second = words.most_common(2)
final_answer(f"{first[0]} ({first[1]}), {second[0]} ({second[1]})")
```""",
    "And how often is the first of them near the second?": """\
```repl
sentences = [each for each in re.split(r"[.]\\s*", context.lower()) if first[0] in each and second[0] in each]
final_answer(f"{len(sentences)} times in one sentence")
```""",
    "What did I ask first?": """\
```repl
final_answer(history_0[1]["content"].splitlines()[2])
```""",
}


def main() -> None:
    turns = iter(ASKED.values())
    questions = sys.stdin if "--ask" in sys.argv else iter(ASKED)
    with RLM(*model(turns=lambda _: next(turns)), persistent=True) as rlm:
        context: str | None = BOOK
        for question in questions:
            print(">", question.strip())
            print(rlm.completion(context, root_prompt=question).response)
            context = None  # the session has it


if __name__ == "__main__":
    main()
