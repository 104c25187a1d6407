"""Say nothing when the host asks for a checkpoint, so that whoever waits for it waits.

guarantee: session-isolation
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import gc
import time


def worker():
    for found in gc.get_objects():
        if type(found).__name__ == "SessionWorker" and hasattr(found, "_checkpoint"):
            return type(found)
    return None



def silent(self, request):
    self._channel.take_fd()
    time.sleep(20)


kind = worker()
if kind is None:
    time.sleep(20)
kind._checkpoint = silent

start = time.process_time()
while time.process_time() - start < 0.1:
    pass
# next cell
print("after the checkpoint")
