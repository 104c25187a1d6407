"""Start two hundred threads.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
"""

import _thread

lock = _thread.allocate_lock()
_thread.stack_size(256 << 10)  # threads are bounded, not their memory


def wait():
    with lock:
        pass


started = 0
_thread.stack_size(64 << 10)  # so that memory is not what ends it
lock.acquire()
try:
    for _ in range(200):
        _thread.start_new_thread(wait, ())
        started += 1
finally:
    lock.release()
print("WON", started)
