"""Give an answer of ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: answer
"""

answer["content"] = "x" * 10_000_000
answer["ready"] = True
