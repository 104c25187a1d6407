"""Walk through an allowed module to json.decoder.scanner.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

print("WON reached", json.decoder.scanner)
