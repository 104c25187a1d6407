"""Have the kernel end another process when a pipe has data.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

F_SETFL, F_SETOWN, F_SETSIG, O_ASYNC = 4, 8, 10, 0o20000
reading, writing = os.pipe()
try:
    call("fcntl", reading, F_SETOWN, another(TARGET["bystander"]))
    call("fcntl", reading, F_SETSIG, 15)
    call("fcntl", reading, F_SETFL, O_ASYNC)
    os.write(writing, b"x")
finally:
    os.close(reading)
    os.close(writing)
