"""Mark the answer as ready with something that has no truth.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made:
    def __bool__(self):
        raise SystemExit(9)

answer["content"] = "x"
answer["ready"] = Made()
