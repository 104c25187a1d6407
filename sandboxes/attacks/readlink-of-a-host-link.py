"""Read where a symbolic link of the host points.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

text = ctypes.create_string_buffer(400)
call("readlinkat", -100, TARGET["link"], text, 399)
print("WON", text.value.decode())
