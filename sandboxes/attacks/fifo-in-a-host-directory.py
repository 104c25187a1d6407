"""Make a named pipe that a host program may read.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("mknodat", -100, TARGET["inbox"] + "/pipe", 0o010644, 0)
