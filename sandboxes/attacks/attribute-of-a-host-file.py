"""Hang an extended attribute on a host file; Landlock knows no right for that.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: machine - not every file system has extended attributes
"""

call("setxattr", TARGET["victim"], "user.cell", b"was here", 8, 0)
