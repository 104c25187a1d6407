"""Catch the MemoryError, and take what is left in small pieces.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]

kept = []
taken = 0
piece = 1 << 20
while taken < size and piece > 64:
    try:
        kept.append(bytearray(piece))
        taken += piece
    except MemoryError:
        piece //= 2
if taken < size:
    raise MemoryError(taken)
print("WON", taken)
