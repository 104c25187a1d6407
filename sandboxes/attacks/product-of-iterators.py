"""Make a list of all combinations.

guarantee: bounded-memory
layer: both
wins: prints
"""

size = 2 * TARGET["memory_bytes"]
import itertools

items = list(itertools.islice(itertools.product(range(100), repeat=5), size // 50))
print("WON", len(items))
