"""Give a host file to another user.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: root - only root gives files away
"""

call("fchownat", -100, TARGET["victim"], 12345, 12345, 0)
