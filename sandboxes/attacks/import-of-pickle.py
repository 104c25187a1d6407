"""Import pickle.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import pickle

print("WON reached", pickle.loads(pickle.dumps(1)))
