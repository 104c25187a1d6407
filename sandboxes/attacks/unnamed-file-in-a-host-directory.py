"""Make a file without a name with O_TMPFILE, then give it one.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: machine - not every file system has O_TMPFILE
"""

O_TMPFILE = 0o20200000
fd = call("openat", -100, TARGET["inbox"], O_TMPFILE | os.O_WRONLY, 0o644)
call("linkat", -100, f"/proc/self/fd/{fd}", -100, TARGET["inbox"] + "/made", 0x400)
