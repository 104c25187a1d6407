"""Walk through an allowed module to textwrap.re.enum.sys.modules.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import textwrap

print("WON reached", textwrap.re.enum.sys.modules["io"].open)
print(textwrap.re.enum.sys.modules["io"].open(TARGET["file"]).read())
