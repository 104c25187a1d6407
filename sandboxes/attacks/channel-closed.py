"""Close the channel and go on.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os
import time

os.close(3)
time.sleep(3600)
