"""Close the channel and go on.

guarantee: authentic-channel
layer: kernel
wins: breaks
"""

import time

os.close(3)
time.sleep(3600)
