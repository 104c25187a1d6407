"""Double a text until there is no more memory.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
text = "a"
while len(text) < size:
    text += text
print("WON", len(text))
