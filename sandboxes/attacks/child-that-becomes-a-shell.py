"""Have a child become a shell that computes.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

arguments = (ctypes.c_char_p * 4)(b"sh", b"-c", b"echo $((6*7))", None)
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.dup2(writing, 1)
        os.set_inheritable(1, True)  # which it is not yet where it was the pipe's own number
        call("execve", "/bin/sh", arguments, 0)
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
