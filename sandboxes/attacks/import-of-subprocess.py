"""Import subprocess.

guarantee: no-reflection
layer: language
wins: reflects
"""

import subprocess

print("WON reached", subprocess.run)
