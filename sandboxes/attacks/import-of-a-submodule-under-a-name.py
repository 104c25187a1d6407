"""Import a submodule under a name of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json.decoder as decoder

print("WON reached", decoder.scanner.c_make_scanner)
