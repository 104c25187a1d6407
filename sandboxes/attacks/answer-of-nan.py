"""Give an answer that JSON does not have.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

answer["content"] = [float("nan"), float("inf")]
answer["ready"] = True
