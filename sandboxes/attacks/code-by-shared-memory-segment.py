"""Attach a System V segment as executable.

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



IPC_CREAT, SHM_EXEC, IPC_RMID = 0o1000, 0o100000, 0
segment = call("shmget", 0, 4096, IPC_CREAT | 0o700)
libc.shmat.restype = ctypes.c_void_p
try:
    address = checked(libc.shmat(segment, None, SHM_EXEC))
finally:
    call("shmctl", segment, IPC_RMID, 0)
ctypes.memmove(address, code, len(code))
run(address)
