"""Raise the recursion limit, then recurse.

guarantee: host-integrity
layer: both
wins: breaks
"""

import sys

sys.setrecursionlimit(10**9)

def run():
    run()

run()
