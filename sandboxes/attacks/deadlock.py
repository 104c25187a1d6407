"""Wait for a lock that it holds itself.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import _thread

lock = _thread.allocate_lock()
lock.acquire()
lock.acquire()
