"""Send as many values as fit, so that parsing them costs a hundred times their bytes.

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



send(b'{"op":"done","stdout":[' + b"[]," * 300_000 + b"[]]}")
