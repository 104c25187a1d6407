"""Fill a disk.

guarantee: bounded-output
layer: kernel
wins: writes
outcome: harmless
"""

with open(TARGET["inbox"] + "/large", "wb") as file:
    for _ in range(16):
        file.write(bytes(1 << 20))
