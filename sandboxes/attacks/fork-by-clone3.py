"""Make a process with clone3(2), whose flags no seccomp filter can read.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

SIGCHLD = 17
arguments = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", 0, 0, 0, 0, SIGCHLD, 0, 0, 0))
pid = call("clone3", arguments, 64)
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
