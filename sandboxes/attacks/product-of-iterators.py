"""Make a list of all combinations.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
import itertools

items = list(itertools.islice(itertools.product(range(100), repeat=5), size // 100))
print("WON", len(items))
