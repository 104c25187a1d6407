"""Send the same call a thousand times without reading one reply.

guarantee: bounded-spend
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



for _ in range(1000):
    send(b'{"op":"call","call":"llm_query","prompts":["x"],"model":null}')
