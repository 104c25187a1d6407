"""Give an answer of bytes.

guarantee: host-integrity
layer: both
wins: breaks
"""

answer["content"] = b"\xff\x00"
answer["ready"] = True
