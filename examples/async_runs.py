"""Runs on an event loop: several at once, results as they come, and one that is cancelled with all that it started.

    python examples/async_runs.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/async_runs.py    a real model

It prints:

    both at once: ['3 words', '5 words']
    as they come: {'ada': 'lovelace', 'alan': 'turing'}
    cancelled after half a second: its cell was stopped
    a sandbox, too: [0, 1, 4]
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from model import model

from rlm_secure import RLM, AsyncSandbox

#: What a model writes for each question; the scripted backend plays it.
COUNT = "```repl\nfinal_answer(f'{len(context.split())} words')\n```"
SURNAME = "```repl\nfinal_answer(context.split()[1])\n```"
ENDLESS = "```repl\nwhile True:\n    pass\n```"


async def main() -> None:
    async with RLM(*model(turns=[COUNT])) as rlm:
        question = "How many words are there? Answer as in: 7 words"
        both = [rlm.acompletion(text, question) for text in ("one two three", "one two three four five")]
        print("both at once:", [completion.response for completion in await asyncio.gather(*both)])

    async with RLM(*model(turns=[SURNAME])) as rlm:
        people, found = ["ada lovelace", "alan turing"], {}
        async with aclosing(rlm.abatch_as_completed(people, "What is the surname? That word alone.")) as items:
            async for item in items:
                found[people[item.index].split()[0]] = item.response
        print("as they come:", dict(sorted(found.items())))

    async with RLM(*model(turns=[ENDLESS])) as rlm:
        try:
            async with asyncio.timeout(0.5):
                await rlm.acompletion("", "Run this cell as it is:\n" + ENDLESS)
        except TimeoutError:
            print("cancelled after half a second: its cell was stopped")

    async with AsyncSandbox() as sandbox:
        print("a sandbox, too:", (await sandbox.run("[n * n for n in range(3)]")).check().value)


if __name__ == "__main__":
    asyncio.run(main())
