"""Take the processors away from everybody else with real-time scheduling.

guarantee: host-integrity
layer: kernel
wins: prints
control: root - real-time scheduling needs CAP_SYS_NICE
"""

SCHED_FIFO = 1
priority = ctypes.c_int(1)
call("sched_setscheduler", 0, SCHED_FIFO, ctypes.byref(priority))
print("WON")
