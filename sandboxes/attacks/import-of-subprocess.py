"""Import subprocess.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import subprocess

print("WON reached", subprocess.run)
