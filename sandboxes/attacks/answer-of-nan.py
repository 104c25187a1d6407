"""Give an answer that JSON does not have.

guarantee: host-integrity
layer: both
wins: breaks
"""

answer["content"] = [float("nan"), float("inf")]
answer["ready"] = True
