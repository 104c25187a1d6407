"""Take the disks away from everybody else.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - real-time input and output needs CAP_SYS_ADMIN over the machine, which no user namespace gives
"""

IOPRIO_WHO_PROCESS, REAL_TIME = 1, 1 << 13
call("ioprio_set", IOPRIO_WHO_PROCESS, 0, REAL_TIME)
print("WON")
