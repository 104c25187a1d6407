"""Make a process with the raw fork(2).

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - aarch64 has no fork(2)
"""

pid = call("fork")
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
