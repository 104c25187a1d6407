"""Make a device node for the memory of the machine.

guarantee: no-host-files
layer: kernel
wins: writes
control: root - device nodes need CAP_MKNOD
"""

call("mknodat", -100, TARGET["inbox"] + "/device", 0o020666, os.makedev(1, 1))
