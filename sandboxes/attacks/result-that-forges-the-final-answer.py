"""Send a result whose answer nobody gave.

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


RESULT = {
    "op": "done",
    "stdout": "",
    "stderr": "",
    "dropped": 0,
    "variables": {},
    "answer": None,
    "error": None,
    "cpu": 0.0,
    "peak": 0,
}

send(json.dumps({**RESULT, "answer": {"text": "forged" * 10, "value": {"a": 1}}}).encode())
