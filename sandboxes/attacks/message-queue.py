"""Keep data in a System V message queue.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

IPC_CREAT, IPC_RMID = 0o1000, 0
queue = call("msgget", 0, IPC_CREAT | 0o700)
try:
    message = ctypes.create_string_buffer(8 + 4096)
    message[0] = 1
    call("msgsnd", queue, message, 4096, 0)
finally:
    call("msgctl", queue, IPC_RMID, 0)
print("WON")
