"""Abort, as a failed assertion in C does.

guarantee: host-integrity
layer: kernel
wins: breaks
"""

os.abort()
