"""Patch the worker's own JSON encoder, so that results are what the cell says.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
"""

import json

json.JSONEncoder.encode = lambda self, value: '{"op": NaN'
raise SystemExit(3)
