"""Mount a file system over a host directory.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - mounting needs CAP_SYS_ADMIN
"""

call("mount", "none", TARGET["inbox"], "tmpfs", 0, 0)
print("WON mounted")
