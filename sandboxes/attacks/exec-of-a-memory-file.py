"""Write a program to a memory file and become it.

guarantee: no-exec
layer: kernel
wins: writes
outcome: kills its own process tree
needs: ctypes
"""

AT_EMPTY_PATH = 0x1000
fd = call("memfd_create", "program", 0)
os.write(fd, f"#!/bin/sh\necho made > {TARGET['inbox']}/made\n".encode())
arguments = (ctypes.c_char_p * 2)(b"program", None)
call("execveat", fd, "", arguments, 0, AT_EMPTY_PATH)
