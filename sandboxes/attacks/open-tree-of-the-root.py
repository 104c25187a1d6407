"""Clone the mount tree with open_tree(2), which older filters forget.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - cloning a mount tree needs CAP_SYS_ADMIN
"""

OPEN_TREE_CLONE, AT_RECURSIVE = 1, 0x8000
print("WON", call("open_tree", -100, "/", OPEN_TREE_CLONE | AT_RECURSIVE))
