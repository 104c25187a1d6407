"""Give an answer of bytes.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

answer["content"] = b"\xff\x00"
answer["ready"] = True
