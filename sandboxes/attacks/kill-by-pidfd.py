"""End another process through a pidfd.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

pidfd = call("pidfd_open", another(TARGET["bystander"]), 0)
call("pidfd_send_signal", pidfd, 15, 0, 0)
