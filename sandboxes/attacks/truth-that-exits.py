"""Mark the answer as ready with something that has no truth.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

class Made:
    def __bool__(self):
        raise SystemExit(9)

answer["content"] = "x"
answer["ready"] = Made()
