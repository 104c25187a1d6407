"""Make the channel of both sides non-blocking.

guarantee: authentic-channel
layer: kernel
wins: prints
outcome: kills its own process tree
needs: channel, ctypes
"""

O_NONBLOCK, F_SETFL = 0o4000, 4
call("fcntl", 3, F_SETFL, O_NONBLOCK)
print("WON the flag is set")
