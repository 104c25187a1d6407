"""context.flags and context.traps, used as decimal's own are."""

from __future__ import annotations

from .cells import Session


def test_flags_and_traps_are_read_and_set() -> None:
    printed = Session().run(
        """
from decimal import Context, Decimal, Inexact, Overflow, localcontext
context = Context()
context.flags[Inexact] = True
print(context.flags[Inexact], context.flags == Context().flags, context.traps == Context().traps)
context.traps = Context(traps=[Overflow]).traps
print([signal.__name__ for signal, trapped in context.traps.items() if trapped])
setattr(context, "flags", {signal: False for signal in context.flags})
print(any(getattr(context, "flags").values()))
with localcontext() as local:
    local.traps[Inexact] = True
    try:
        Decimal(1) / 3
    except Inexact:
        print(local.flags[Inexact])
class Packet:
    flags = 3
packet = Packet()
packet.flags += 1
print(packet.flags)
"""
    )
    assert printed == "True False True\n['Overflow']\nFalse\nTrue\n4\n"
