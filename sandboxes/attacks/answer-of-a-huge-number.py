"""Give an answer of five thousand digits, which Python refuses to print.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

answer["content"] = 10**5000
answer["ready"] = True
