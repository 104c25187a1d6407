"""Send empty frames.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os

os.write(3, bytes(4) * 100)
