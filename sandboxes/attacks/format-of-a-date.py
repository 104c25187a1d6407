"""Have datetime call strftime with a format of its own, whose helper imports a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import datetime

print("WON reached", datetime.datetime.strptime.__self__.__class__, datetime.datetime.strptime("1", "%d"))
