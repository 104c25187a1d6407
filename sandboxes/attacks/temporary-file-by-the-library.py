"""Leave a temporary file behind with the tempfile module.

guarantee: no-leftovers
layer: kernel
wins: remains
outcome: changes this namespace
"""

import tempfile

tempfile.mkstemp(prefix=TARGET["tag"])
