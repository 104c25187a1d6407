"""Talk to the hardware directly.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - x86_64 only and optional, and needs CAP_SYS_RAWIO over the machine
"""

print("WON", call("iopl", 3))
