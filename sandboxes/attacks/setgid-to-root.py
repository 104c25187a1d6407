"""Take the group of root without having it.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - who is in that group has nothing to take, and as root a control is
"""

before = {os.getgid(), os.getegid()}
call("setgid", 0)
if 0 in before:
    raise RuntimeError("it was in that group before")
if os.getegid():
    raise PermissionError(1, "still not in that group")
print("WON the group of root, and before that", before)
