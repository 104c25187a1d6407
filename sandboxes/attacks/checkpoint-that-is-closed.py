"""Close the channel that the host opens for a checkpoint, without a word.

guarantee: session-isolation
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import gc
import os
import time


def worker():
    for found in gc.get_objects():
        if type(found).__name__ == "SessionWorker" and hasattr(found, "_checkpoint"):
            return type(found)
    return None



def rude(self, request):
    os._exit(0)


kind = worker()
if kind is None:
    os._exit(1)
kind._checkpoint = rude

start = time.process_time()
while time.process_time() - start < 0.1:
    pass
# next cell
print("after the checkpoint")
