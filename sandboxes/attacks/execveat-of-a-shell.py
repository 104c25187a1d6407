"""Become a shell with execveat(2).

guarantee: no-exec
layer: kernel
wins: writes
outcome: kills its own process tree
needs: ctypes
"""

command = f"echo made > {TARGET['inbox']}/made"
arguments = (ctypes.c_char_p * 4)(b"sh", b"-c", command.encode(), None)
call("execveat", -100, "/bin/sh", arguments, 0, 0)
