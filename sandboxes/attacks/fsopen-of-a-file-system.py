"""Build a file system with the newer mount calls, which older filters forget.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - fsopen needs CAP_SYS_ADMIN
"""

print("WON", call("fsopen", "tmpfs", 0))
