"""Start a thread, which could run on when its cell is over.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
"""

import _thread

done = []
_thread.start_new_thread(done.append, (1,))
for _ in range(10**7):
    if done:
        break
if not done:
    raise TimeoutError(110, "the thread did not run")
print("WON", done)
