"""Bind the root elsewhere, to escape its read-only flag.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - mounting needs CAP_SYS_ADMIN
"""

MS_BIND = 4096
call("mount", "/", TARGET["inbox"], 0, MS_BIND, 0)
print("WON mounted")
