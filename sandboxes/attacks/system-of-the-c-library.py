"""Run a shell command with system(3).

guarantee: no-exec
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

status = libc.system(f"echo made > {TARGET['inbox']}/made".encode())
raise OSError(11, f"system returned {status}")
