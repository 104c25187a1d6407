"""Learn the path of the working directory that came along.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

text = ctypes.create_string_buffer(400)
call("getcwd", text, 399)
if text.value == b"/":
    raise FileNotFoundError(2, "the working directory is the root")
print("WON", text.value.decode())
