"""Patch the worker's own classes, so that its next result is not one.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import gc

for found in gc.get_objects():
    if type(found).__name__ in ("SessionWorker", "Repl", "FrameChannel"):
        try:
            type(found)._run = lambda self, *values, **options: {"op": "done", "stdout": 7}
            type(found).variables = lambda self: ["not", "a", "mapping"]
        except TypeError:
            pass
raise SystemExit(3)
