"""Read what a shell computes with popen(3).

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

libc.popen.restype = ctypes.c_void_p
stream = libc.popen(b"echo $((6*7))", b"r")
if not stream:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
said = ctypes.create_string_buffer(100)
libc.fgets(said, 100, ctypes.c_void_p(stream))
libc.pclose(ctypes.c_void_p(stream))
if said.value != b"42\n":
    raise OSError(8, f"no shell ran: {said.value!r}")
print("WON a shell ran, and computed", said.value.decode())
