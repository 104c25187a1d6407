"""Not an attack: what attacks on the kernel layer start with. `call(name, ...)` makes one raw system call.

It returns what the kernel returned, or raises OSError with its errno. The numbers come from the host, so that
nothing has to be looked up, imported or opened behind the walls.
"""

import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    if isinstance(number, str):
        number = TARGET["numbers"][number]
    if number < 0:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    values = []
    for argument in arguments:
        if isinstance(argument, str):
            argument = argument.encode()
        if isinstance(argument, bytes):
            argument = ctypes.c_char_p(argument)
        elif isinstance(argument, int):
            argument = ctypes.c_long(argument)
        values.append(argument)
    result = libc.syscall(ctypes.c_long(number), *values)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
