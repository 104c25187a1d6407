"""Use each open descriptor as a directory to open a host file from.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

for fd in [-100, *range(0, 256)]:
    try:
        found = call("openat", fd, "../" * 40 + TARGET["file"].lstrip("/"), os.O_RDONLY)
    except OSError as error:
        last = error
        continue
    print(os.read(found, 200).decode())
    break
else:
    raise last
