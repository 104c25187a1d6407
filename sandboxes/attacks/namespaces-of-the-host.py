"""Enter the namespaces of the host's process.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - setns needs CAP_SYS_ADMIN
"""

CLONE_NEWNET, CLONE_NEWUTS = 0x40000000, 0x04000000
pidfd = call("pidfd_open", TARGET["host"], 0)
call("setns", pidfd, CLONE_NEWNET | CLONE_NEWUTS)
print("WON entered")
