import asyncio


class Agent:
    def __init__(self, name):
        self.name = name
        self.log = []

    async def think(self, text):
        await asyncio.sleep(0)
        reply = llm_query(f"{self.name}: {text}")
        self.log.append(reply)
        return reply

    async def __aenter__(self):
        print(self.name, "starts")
        return self

    async def __aexit__(self, *exc):
        print(self.name, "stops after", len(self.log))


async def main():
    async with Agent("reader") as reader:
        first = await reader.think(context[:50])
        second, third = await asyncio.gather(reader.think("two"), reader.think("three"))
    print(first, second, third, sep="\n")
    return len(reader.log)


loop_result = asyncio.run(main())
print(loop_result)
