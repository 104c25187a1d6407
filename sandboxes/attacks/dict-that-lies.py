"""Leave an answer that is a dict which answers for itself.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

class Made(dict):
    def get(self, *args):
        raise SystemExit(9)

    def __getitem__(self, name):
        raise SystemExit(9)

    def __repr__(self):
        raise SystemExit(9)

answer = Made(content="x", ready=True)
