"""List the root directory with the raw system call.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, "/", os.O_RDONLY | os.O_DIRECTORY)
entries = ctypes.create_string_buffer(4096)
size = call("getdents64", fd, entries, 4096)
names = entries.raw[:size]
if size <= 48:
    raise FileNotFoundError(2, "the root holds nothing but itself")
print("WON", names[:200])
