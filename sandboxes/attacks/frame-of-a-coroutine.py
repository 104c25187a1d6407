"""Read the frame of a coroutine.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

async def make():
    return 1

spy = make()
print("WON reached", spy.cr_frame.f_builtins["open"])
print(spy.cr_frame.f_builtins["open"](TARGET["file"]).read())
spy.close()
