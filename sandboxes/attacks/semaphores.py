"""Take System V semaphores, of which the machine has few.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

IPC_CREAT, IPC_RMID = 0o1000, 0
semaphores = call("semget", 0, 250, IPC_CREAT | 0o700)
call("semctl", semaphores, 0, IPC_RMID, 0)
print("WON", semaphores)
