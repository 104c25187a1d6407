"""Walk through an allowed module to datetime.sys.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
control: machine - some versions of Python import it elsewhere
"""

import datetime

print("WON reached", datetime.sys)
