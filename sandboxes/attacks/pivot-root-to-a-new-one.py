"""Swap the root for a file system of its own.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - pivot_root needs CAP_SYS_ADMIN
"""

MNT_DETACH = 2
call("mount", "none", TARGET["inbox"], "tmpfs", 0, 0)
os.chdir(TARGET["inbox"])
call("pivot_root", ".", ".")
print("WON pivoted")
