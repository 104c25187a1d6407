"""Open more descriptors than it may have.

guarantee: bounded-memory
layer: kernel
wins: prints
"""

opened = 0
for _ in range(500):
    call("epoll_create1", 0)
    opened += 1
print("WON", opened)
