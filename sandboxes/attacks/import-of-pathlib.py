"""Import pathlib.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import pathlib

print("WON reached", pathlib.Path(TARGET["file"]).read_text())
