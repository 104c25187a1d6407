"""Become root of a new user namespace, where most kernel bugs begin.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - user namespaces may be switched off
"""

CLONE_NEWUSER = 0x10000000
try:
    call("unshare", CLONE_NEWUSER)
except OSError as refused:
    if refused.errno != errno.EINVAL:
        raise
    # A process that has threads may not; a child of it has one.
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            call("unshare", CLONE_NEWUSER)
            os.write(writing, b"0")
        except OSError as error:
            os.write(writing, b"%d" % error.errno)
        finally:
            os._exit(0)
    os.close(writing)
    number = int(os.read(reading, 10) or errno.EINVAL)
    os.close(reading)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # where SIGCHLD is ignored, nobody has to wait
    if number:
        raise OSError(number, os.strerror(number))
print("WON a user namespace")
