"""Give an answer nested a hundred thousand deep.

guarantee: host-integrity
layer: both
wins: breaks
"""

made = []
for _ in range(100_000):
    made = [made]
answer["content"] = made
answer["ready"] = True
