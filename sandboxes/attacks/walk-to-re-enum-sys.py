"""Walk through an allowed module to re.enum.sys.modules.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import re

print("WON reached", re.enum.sys.modules["io"].open)
print(re.enum.sys.modules["io"].open(TARGET["file"]).read())
