"""Give an answer that is a large table.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: answer
"""

answer["content"] = [[number] * 10 for number in range(100_000)]
answer["ready"] = True
