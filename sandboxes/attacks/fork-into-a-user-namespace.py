"""Make a process that is root of its own user namespace.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

CLONE_NEWUSER, SIGCHLD = 0x10000000, 17
pid = call("clone", CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
