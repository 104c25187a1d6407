"""Have functools.total_ordering write hidden methods into a class.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

class Made:
    def __lt__(self, other):
        return True

    def __eq__(self, other):
        return True

functools.total_ordering(Made)
print("WON", Made.__gt__.__globals__)
