"""Leave a file in /dev/shm.

guarantee: no-leftovers
layer: kernel
wins: remains
outcome: changes this namespace
"""

with open("/dev/shm/" + TARGET["tag"], "w") as file:
    file.write("left by a cell")
