"""Keep data in a POSIX message queue.

guarantee: bounded-memory
layer: kernel
wins: prints
control: machine - message queues are optional in a kernel
"""

O_CREAT, O_RDWR = 0o100, 2
print("WON", call("mq_open", TARGET["tag"], O_CREAT | O_RDWR, 0o600, 0))
call("mq_unlink", TARGET["tag"])
