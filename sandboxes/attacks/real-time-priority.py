"""Take the processors away from everybody else with real-time scheduling.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - real-time scheduling needs CAP_SYS_NICE over the machine, which no user namespace gives
"""

SCHED_FIFO = 1
priority = ctypes.c_int(1)
call("sched_setscheduler", 0, SCHED_FIFO, ctypes.byref(priority))
print("WON")
