"""Exit with sys.exit.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

import sys

sys.exit(9)
