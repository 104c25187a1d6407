"""Ask for a batch that is larger than any.

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



send(b'{"op":"call","call":"llm_query_batched","model":null,"prompts":[' + b'"",' * 200_000 + b'""]}')
