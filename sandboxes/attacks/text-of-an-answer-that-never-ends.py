"""Give an answer whose text never ends.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
needs: answer
"""

class Made:
    def __str__(self):
        while True:
            pass

    __repr__ = __str__

answer["content"] = Made()
answer["ready"] = True
