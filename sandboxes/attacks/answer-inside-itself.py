"""Give an answer that contains itself.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

made = []
made.append(made)
answer["content"] = made
answer["ready"] = True
