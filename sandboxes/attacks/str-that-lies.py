"""Give an answer that is a str which answers for itself.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

class Made(str):
    def encode(self, *args):
        raise SystemExit(9)

    def __str__(self):
        raise SystemExit(9)

    def __format__(self, spec):
        raise SystemExit(9)

    def __len__(self):
        return -1

answer["content"] = Made("x")
answer["ready"] = True
