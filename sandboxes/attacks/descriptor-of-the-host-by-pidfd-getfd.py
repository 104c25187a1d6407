"""Take the host's descriptor out of its process.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

pidfd = call("pidfd_open", TARGET["host"], 0)
fd = call("pidfd_getfd", pidfd, TARGET["fd"], 0)
print(os.pread(fd, 200, 0).decode())
