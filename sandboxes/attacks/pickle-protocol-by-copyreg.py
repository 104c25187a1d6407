"""Register how objects are rebuilt, for everybody.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import copyreg

import copy
import datetime

copyreg.pickle(datetime.timedelta, lambda value: (eval, ("print('WON evaluated')",)))
copy.copy(datetime.timedelta(1))
