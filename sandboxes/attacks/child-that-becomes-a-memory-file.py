"""Have a child become a program in a memory file, which needs no file system.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

EXECUTABLE, LOAD, READ_EXECUTE, ADDRESS, AT_EMPTY_PATH = 2, 1, 5, 0x400000, 0x1000
# By what returns 42 on a machine: its number in a program's header, and code that writes what follows it, and exits.
known = {
    "b82a000000c3": (62, "b801000000bf01000000488d3510000000ba030000000f05b83c00000031ff0f05"),
    "40058052c0035fd6": (183, "080880d2200080d2c1000010620080d2010000d4a80b80d2000080d2010000d4"),
}
program = b"#!/bin/sh\necho $((6*7))\n"  # for any other machine
if TARGET["code"] in known:
    machine, code = known[TARGET["code"]]
    code = bytes.fromhex(code) + b"42\n"
    size = 64 + 56 + len(code)
    program = struct.pack("<4sBBB9x", b"\x7fELF", 2, 1, 1)
    program += struct.pack("<HHIQQQIHHHHHH", EXECUTABLE, machine, 1, ADDRESS + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    program += struct.pack("<IIQQQQQQ", LOAD, READ_EXECUTE, 0, ADDRESS, ADDRESS, size, size, 0x10000)
    program += code
fd = call("memfd_create", "program", 0)
os.write(fd, program)
arguments = (ctypes.c_char_p * 2)(b"program", None)
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.dup2(writing, 1)
        os.set_inheritable(1, True)  # which it is not yet where it was the pipe's own number
        call("execveat", fd, "", arguments, 0, AT_EMPTY_PATH)
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
