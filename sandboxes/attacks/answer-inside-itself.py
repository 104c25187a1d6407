"""Give an answer that contains itself.

guarantee: host-integrity
layer: both
wins: breaks
"""

made = []
made.append(made)
answer["content"] = made
answer["ready"] = True
