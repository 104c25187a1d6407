"""Exit with sys.exit.

guarantee: host-integrity
layer: both
wins: breaks
"""

import sys

sys.exit(9)
