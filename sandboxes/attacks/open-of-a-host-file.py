"""Read a host file with open(2).

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
control: machine - aarch64 has no open(2)
"""

fd = call("open", TARGET["file"], os.O_RDONLY)
print(os.read(fd, 200).decode())
