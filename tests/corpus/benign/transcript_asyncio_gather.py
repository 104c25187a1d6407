import asyncio

lines = [line for line in context.splitlines() if " ERROR " in line]
groups = [lines[i:i + 5] for i in range(0, len(lines), 5)]

async def classify(number: int, group: list[str]) -> tuple[int, str]:
    await asyncio.sleep(0)
    reply = llm_query("What kind of error is it?\n" + "\n".join(group))
    return number, reply

async def main() -> None:
    results = await asyncio.gather(*(classify(i, group) for i, group in enumerate(groups)))
    for number, reply in results:
        print(f"group {number}: {reply}")
    print("groups:", len(results))

asyncio.run(main())
