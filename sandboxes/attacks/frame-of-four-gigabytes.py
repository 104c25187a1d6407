"""Announce a frame of four gigabytes, so that the host makes room for it.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os

os.write(3, b"\xff\xff\xff\xff" + b"x" * 1000)
