import asyncio, time
class Conn:
    async def __aenter__(self): print("open"); return self
    async def __aexit__(self, *exc): print("close"); return False
    def __aiter__(self): self.i = 0; return self
    async def __anext__(self):
        if self.i >= 2: raise StopAsyncIteration
        self.i += 1; await asyncio.sleep(0); return self.i
async def main():
    async with Conn() as c:
        async for x in c: print("got", x)
        print([x * 2 async for x in c])
    ev = asyncio.Event()
    async def waiter(): await ev.wait(); return "released"
    t = asyncio.create_task(waiter(), name="w"); await asyncio.sleep(0); ev.set(); print(await t, t.done(), t.get_name())
    res = await asyncio.gather(boom(), ok(), return_exceptions=True); print(res)
    t2 = asyncio.create_task(asyncio.sleep(10)); await asyncio.sleep(0); t2.cancel()
    try: await t2
    except asyncio.CancelledError: print("cancelled", t2.cancelled())
    lock = asyncio.Lock()
    async with lock: print(lock.locked())
    async with asyncio.timeout(1): print("in time")
    for f in asyncio.as_completed([asyncio.sleep(0.01, "slow"), asyncio.sleep(0, "fast")]): print(await f)
    async with asyncio.TaskGroup() as tg:
        a = tg.create_task(ok()); b = tg.create_task(ok())
    print(a.result() + b.result())
    loop = asyncio.get_running_loop(); print(loop.time() > 0)
    print(await asyncio.to_thread(lambda: "threaded"), await loop.run_in_executor(None, sum, [1, 2]))
async def boom(): raise ValueError("boom")
async def ok(): return 5
asyncio.run(main())
