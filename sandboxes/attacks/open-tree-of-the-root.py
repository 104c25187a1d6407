"""Clone the mount tree with open_tree(2), which older filters forget.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - cloning a mount tree needs CAP_SYS_ADMIN
"""

OPEN_TREE_CLONE = 1
print("WON", call("open_tree", -100, "/", OPEN_TREE_CLONE))
