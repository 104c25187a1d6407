"""Read the frame of an asynchronous generator.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

async def make():
    yield 1

spy = make()
print("WON reached", spy.ag_frame.f_builtins["open"])
print(spy.ag_frame.f_builtins["open"](TARGET["file"]).read())
