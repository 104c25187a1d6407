"""Raise GeneratorExit, which is no Exception.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

raise GeneratorExit
