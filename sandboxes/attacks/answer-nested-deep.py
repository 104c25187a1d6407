"""Give an answer nested a hundred thousand deep.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

made = []
for _ in range(100_000):
    made = [made]
answer["content"] = made
answer["ready"] = True
