"""Import io.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import io

print("WON reached", io.open(TARGET["file"]).read())
