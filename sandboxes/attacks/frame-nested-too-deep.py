"""Send JSON nested a hundred thousand deep.

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



send(b'{"op":"done","stdout":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
