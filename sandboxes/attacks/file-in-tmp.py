"""Leave a file in the directory for temporary files.

guarantee: no-leftovers
layer: kernel
wins: remains
outcome: changes this namespace
"""

with open("/tmp/" + TARGET["tag"], "w") as file:
    file.write("left by a cell")
