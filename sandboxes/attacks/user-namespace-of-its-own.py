"""Become root of a new user namespace, where most kernel bugs begin.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - user namespaces may be switched off
"""

CLONE_NEWUSER = 0x10000000
call("unshare", CLONE_NEWUSER)
print("WON", os.getuid())
