"""Learn where the interpreter lies, from /proc/self/exe.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

text = ctypes.create_string_buffer(400)
call("readlinkat", -100, "/proc/self/exe", text, 399)
print("WON", text.value.decode())
