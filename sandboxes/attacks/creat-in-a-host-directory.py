"""Make a host file with creat(2).

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: machine - aarch64 has no creat(2)
"""

fd = call("creat", TARGET["inbox"] + "/made", 0o644)
os.write(fd, b"made by a cell")
