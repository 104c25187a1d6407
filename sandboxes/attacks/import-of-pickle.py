"""Import pickle.

guarantee: no-reflection
layer: language
wins: reflects
"""

import pickle

print("WON reached", pickle.loads(pickle.dumps(1)))
