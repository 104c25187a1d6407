"""Announce a frame whose length is negative when taken as signed.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os

os.write(3, b"\x80\x00\x00\x01" + b"x" * 1000)
