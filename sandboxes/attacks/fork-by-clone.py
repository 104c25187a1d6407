"""Make a process with the raw clone(2).

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

SIGCHLD = 17
pid = call("clone", SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
