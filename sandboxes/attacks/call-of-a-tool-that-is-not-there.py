"""Ask the host for a tool that this session was not given.

guarantee: authentic-channel
layer: kernel
wins: prints
outcome: kills its own process tree
needs: channel
"""

import os
import struct


def send(body):
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[os.write(3, frame) :]


send(b'{"op":"call","call":"tool","tool":"__import__","args":["os"],"kwargs":{}}')
reply = os.read(3, 65536)
if b'"value"' not in reply:
    raise RuntimeError(reply[4:120].decode())
print("WON", reply[:200])
