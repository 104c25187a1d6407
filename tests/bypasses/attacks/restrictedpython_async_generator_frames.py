"""RestrictedPython before 8.5: asynchronous generators and coroutines have frames and code too (ag_*, cr_*)."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "cr_frame": """
async def f():
    return 1
c = f()
LOOT = c.cr_frame
c.close()
""",
    "cr_code": """
async def f():
    return 1
c = f()
LOOT = getattr(c, "cr_code")
c.close()
""",
    "ag_frame": """
async def f():
    yield 1
LOOT = f().ag_frame
""",
    "ag_code_by_getattr": """
async def f():
    yield 1
LOOT = getattr(f(), "ag_" + "code")
""",
    "async_comprehension": """
async def f():
    return [x async for x in g()]
async def g():
    yield 1
LOOT = g().ag_frame
""",
    "attribute_of_a_lambda_parameter": """
def read(c):
    return c.cr_frame
async def f():
    pass
c = f()
LOOT = read(c)
c.close()
""",
}
