"""Walk through an allowed module to statistics.sys.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
control: machine - some versions of Python import it elsewhere
"""

import statistics

print("WON reached", statistics.sys)
