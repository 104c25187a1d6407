import asyncio


async def step(n):
    await asyncio.sleep(0)
    if n == 2:
        raise RuntimeError("step 2 failed")
    return n


async def main():
    for n in range(4):
        print(await step(n))


asyncio.run(main())
