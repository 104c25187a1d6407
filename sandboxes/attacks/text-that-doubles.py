"""Double a text until there is no more memory.

guarantee: bounded-memory
layer: both
wins: prints
"""

size = 2 * TARGET["memory_bytes"]
text = "a"
while len(text) < size:
    text += text
print("WON", len(text))
