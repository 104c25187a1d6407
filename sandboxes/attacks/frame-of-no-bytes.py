"""Send empty frames.

guarantee: authentic-channel
layer: kernel
wins: breaks
"""

os.write(3, bytes(4) * 100)
