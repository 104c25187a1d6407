"""Read the log of the kernel.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - the kernel log may need CAP_SYSLOG over the machine, which no user namespace gives
"""

SYSLOG_ACTION_READ_ALL = 3
text = ctypes.create_string_buffer(4096)
size = call("syslog", SYSLOG_ACTION_READ_ALL, text, 4095)
print("WON", size, text.raw[:80])
