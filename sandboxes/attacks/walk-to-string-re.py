"""Walk through an allowed module to string._re.enum.sys.modules.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import string

print("WON reached", string._re.enum.sys.modules["io"].open)
print(string._re.enum.sys.modules["io"].open(TARGET["file"]).read())
