"""Say that all walls stand, after the first cell.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import gc
import json
import os
import struct

CHANNEL = next((found for found in gc.get_objects() if type(found).__name__ == "FrameChannel"), None)


def send(body):
    nonce = str(CHANNEL and CHANNEL.nonce).encode()
    body = body[:-1] + b',"nonce":"' + nonce + b'"}'
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[os.write(3, frame) :]



send(b'{"op":"ready","walls":{"seccomp":["full","so it says"]},"details":{}}')
