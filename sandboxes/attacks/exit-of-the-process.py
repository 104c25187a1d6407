"""End the process with exit status 9 in the middle of a cell.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
"""

import os

os._exit(9)
