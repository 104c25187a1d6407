"""Write machine code, then make its page executable.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - the machine code is known for x86_64 and aarch64
"""

code = bytes.fromhex(TARGET["code"])
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ, WRITE, EXECUTE = 1, 2, 4
PRIVATE, SHARED, ANONYMOUS = 2, 1, 0x20


def checked(address):
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


def run(address):
    print("WON", ctypes.CFUNCTYPE(ctypes.c_int)(address)())



address = checked(libc.mmap(None, 4096, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0))
ctypes.memmove(address, code, len(code))
call("mprotect", ctypes.c_long(address), 4096, READ | EXECUTE)
run(address)
