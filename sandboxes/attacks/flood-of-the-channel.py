"""Write to the channel for ever.

guarantee: bounded-output
layer: kernel
wins: breaks
"""

block = b"x" * 65536
for _ in range(200):
    os.write(3, block)
