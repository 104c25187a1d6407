import asyncio


async def producer(queue, items):
    for item in items:
        await queue.put(item)
        await asyncio.sleep(0)
    await queue.put(None)


async def consumer(queue):
    results = []
    while (item := await queue.get()) is not None:
        results.append(item.upper())
    return results


async def numbers(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def main():
    queue = asyncio.Queue(maxsize=2)
    task = asyncio.create_task(producer(queue, ["a", "b", "c"]))
    print(await consumer(queue), task.done())
    print([x async for x in numbers(4) if x % 2])
    try:
        await asyncio.wait_for(asyncio.sleep(10), timeout=0.01)
    except asyncio.TimeoutError:
        print("timed out")
    results = await asyncio.gather(asyncio.sleep(0, "x"), failing(), return_exceptions=True)
    print([r if isinstance(r, str) else type(r).__name__ for r in results])


async def failing():
    raise ValueError("no")


asyncio.run(main())
