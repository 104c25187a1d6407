"""Make a process with clone(CLONE_VFORK).

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

CLONE_VFORK, SIGCHLD = 0x4000, 17
pid = call("clone", CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
