"""Send an object that says two things under one name.

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



send(b'{"op":"call","call":"tool","tool":"harmless","tool":"dangerous","args":[],"kwargs":{}}')
