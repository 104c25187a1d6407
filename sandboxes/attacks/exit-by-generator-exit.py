"""Raise GeneratorExit, which is no Exception.

guarantee: host-integrity
layer: both
wins: breaks
"""

raise GeneratorExit
