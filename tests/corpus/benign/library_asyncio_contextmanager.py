import asyncio
from contextlib import asynccontextmanager


@asynccontextmanager
async def connection(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)


async def main():
    async with connection("db") as handle:
        print("using", handle)
        await asyncio.sleep(0)


asyncio.run(main())
