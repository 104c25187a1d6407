"""Raise the recursion limit, then recurse.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

import sys

sys.setrecursionlimit(2 * 10**6)  # 450 MB of frames; who prints them takes 20 s

def run():
    run()

run()
