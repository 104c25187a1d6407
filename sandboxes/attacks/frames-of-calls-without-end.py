"""Ask the host for one thing after another, for as long as it answers.

guarantee: bounded-time
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



import time

start = time.monotonic()
while time.monotonic() - start < 8:
    send(b'{"op":"call","call":"llm_query","prompts":["x"],"model":null}')
    os.read(3, 65536)
