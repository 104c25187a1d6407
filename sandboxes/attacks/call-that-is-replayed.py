"""Send the same call a thousand times without reading one reply.

guarantee: bounded-spend
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



for _ in range(1000):
    send(b'{"op":"call","call":"llm_query","prompts":["x"],"model":null}')
