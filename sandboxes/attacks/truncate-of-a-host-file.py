"""Empty a host file without opening it.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("truncate", TARGET["victim"], 0)
