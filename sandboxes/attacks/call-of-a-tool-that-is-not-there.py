"""Ask the host for a tool that this session was not given.

guarantee: authentic-channel
layer: kernel
wins: prints
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


send(b'{"op":"call","call":"tool","tool":"__import__","args":["os"],"kwargs":{}}')
reply = json.dumps(CHANNEL.receive()).encode() if CHANNEL else os.read(3, 65536)
if b'"value"' not in reply:
    raise RuntimeError(reply[-120:].decode())
print("WON", reply[:200])
