"""Give an answer that is a large table.

guarantee: bounded-output
layer: both
wins: floods
"""

answer["content"] = [[number] * 10 for number in range(100_000)]
answer["ready"] = True
