"""Start two hundred threads.

guarantee: bounded-processes
layer: kernel
wins: prints
"""

import _thread

lock = _thread.allocate_lock()
lock.acquire()
started = 0
try:
    for _ in range(200):
        _thread.start_new_thread(lock.acquire, ())
        started += 1
finally:
    for _ in range(started):
        try:
            lock.release()
        except RuntimeError:
            pass
print("WON", started)
