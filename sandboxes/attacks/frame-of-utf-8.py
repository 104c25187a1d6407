"""Send JSON in UTF-8 with overlong and surrogate forms.

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



send(b'{"op":"done","stdout":"\xed\xa0\x80\xc0\xaf"}')
