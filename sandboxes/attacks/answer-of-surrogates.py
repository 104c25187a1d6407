"""Give an answer that no encoding takes.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

answer["content"] = "\ud800" * 100
answer["ready"] = True
print("\udfff")
