import asyncio
from typing import Awaitable


async def ask(semaphore: asyncio.Semaphore, prompt: str) -> str:
    async with semaphore:
        return await asyncio.to_thread(llm_query, prompt)


async def main():
    semaphore = asyncio.Semaphore(3)
    prompts = [f"Part {i}: what happened?\n{part}" for i, part in enumerate(context.split("\n### "))]
    tasks = [asyncio.create_task(ask(semaphore, p)) for p in prompts]
    return await asyncio.gather(*tasks)


results = asyncio.run(main())
for i, r in enumerate(results):
    print(i, r)
