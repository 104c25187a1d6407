"""Give an answer whose keys are no text.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

answer["content"] = {(1, 2): 3}
answer["ready"] = True
