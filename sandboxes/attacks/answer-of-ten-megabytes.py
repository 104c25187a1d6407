"""Give an answer of ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
"""

answer["content"] = "x" * 10_000_000
answer["ready"] = True
