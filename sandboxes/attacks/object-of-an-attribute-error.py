"""Take the object out of the AttributeError that it caused.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2024-47532
"""

import json

try:
    json.nothing
except AttributeError as error:
    print("WON reached", error.obj.codecs)
