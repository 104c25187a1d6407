"""Generators that are thrown into while `throw` of what they wait for runs.

C takes what the generator waits for off its stack when the method has failed: once for each call, so that the second
one takes, and releases, what was never there. In CPython 3.11 and 3.12.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_HEAD = """
from contextlib import ExitStack, contextmanager
class Waited:
    def __await__(self): return self
    def __iter__(self): return self
    def __next__(self): return 1
    def throw(self, *error):
        global LOOT
        if len(calls) > 1:
            LOOT = CANARY  # to fail would corrupt the interpreter
            return 1
        calls.append(error)
        again()
        return 1
calls = []
def generator():
    yield from Waited()
async def coroutine():
    await Waited()
"""
_RUN = """
made = {made}()
made.send(None)
def again(): {throw}
calls.append(0)
try:
    again()
except ValueError:
    pass
"""
_MANAGED = """
calls.append(0)
manager = contextmanager(generator)()
stack, other = ExitStack(), ExitStack()
stack.enter_context(manager)
other.push(manager)
def again():
    with other: raise ValueError
try:
    with stack: raise KeyError
except (KeyError, ValueError, RuntimeError):
    pass
"""
ATTACKS: dict[str, str] = {
    "generator": _HEAD + _RUN.format(made="generator", throw="made.throw(KeyError())"),
    "coroutine": _HEAD + _RUN.format(made="coroutine", throw="made.throw(KeyError())"),
    "by_getattr": _HEAD + _RUN.format(made="generator", throw="getattr(made, 'throw')(KeyError())"),
    "unbound": _HEAD + _RUN.format(made="generator", throw="type(made).throw(made, KeyError())"),
    "context_manager": _HEAD + _MANAGED,
    "one_that_waits_for_one": f"""{_HEAD}
def outer(): yield from generator()
{_RUN.format(made="outer", throw="made.throw(KeyError())")}""",
}
if sys.version_info >= (3, 13):  # there a second throw() fails, and corrupts nothing: there is nothing to win
    ATTACKS = {}
