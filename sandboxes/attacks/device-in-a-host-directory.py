"""Make a device node; the null device, where it could be the memory of the machine.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: machine - device nodes need CAP_MKNOD over the machine, which no user namespace gives
"""

call("mknodat", -100, TARGET["inbox"] + "/device", 0o020666, os.makedev(1, 3))
