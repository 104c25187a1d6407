"""Open more descriptors than it may have.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

opened = []
try:
    for _ in range(500):
        opened.append(call("epoll_create1", 0))
finally:
    for fd in opened:
        os.close(fd)
print("WON", len(opened))
