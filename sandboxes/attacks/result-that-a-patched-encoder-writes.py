"""Patch the worker's own JSON encoder, so that results are what the cell says.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
"""

import sys

import json

json.JSONEncoder.encode = lambda self, value: '{"op": NaN'
for module in list(sys.modules.values()):
    if hasattr(module, "_encode"):
        module._encode = lambda value: '{"op": NaN'
raise SystemExit(3)
