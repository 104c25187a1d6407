"""Keep data in a POSIX message queue.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - message queues are optional in a kernel
"""

O_CREAT, O_RDWR = 0o100, 2
queue = call("mq_open", TARGET["tag"], O_CREAT | O_RDWR, 0o600, 0)
try:
    print("WON", queue)
finally:
    call("mq_unlink", TARGET["tag"])
