"""Ask for a tool with arguments named like those of the host.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import json
import os
import struct


def send(body):
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[os.write(3, frame) :]



send(b'{"op":"call","call":"tool","tool":"submit","args":[],"kwargs":{"self":1,"call":2,"__class__":3}}')
