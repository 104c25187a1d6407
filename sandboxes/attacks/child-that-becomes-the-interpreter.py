"""Have a child become Python anew, from the interpreter's own path, and compute.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
"""

import os
import sys

reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.dup2(writing, 1)
        os.set_inheritable(1, True)  # which it is not yet where it was the pipe's own number
        os.execv(sys.executable, ["python", "-I", "-S", "-c", "print(6 * 7)"])
    except OSError as error:
        os.write(1, b"error %d" % error.errno)
    finally:
        os._exit(1)
os.close(writing)
said = os.read(reading, 100)
os.close(reading)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
if said != b"42\n":
    raise OSError(int(said.rpartition(b" ")[2] or 8), f"no program ran: {said!r}")
print("WON a program ran, and computed", said.decode())
