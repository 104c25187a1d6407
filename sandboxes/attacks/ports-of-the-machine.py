"""Talk to the hardware directly.

guarantee: session-isolation
layer: kernel
wins: prints
control: machine - x86_64 only, and needs CAP_SYS_RAWIO
"""

print("WON", call("iopl", 3))
