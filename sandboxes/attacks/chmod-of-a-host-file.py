"""Change the mode of a host file; Landlock knows no right for that.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("fchmodat", -100, TARGET["victim"], 0o777)
