"""The language layer: decides which Python a cell may use. Not a boundary: it narrows what reaches the kernel's walls.

It refuses code early, with a sentence that a model understands. Code that gets around it is still confined by the walls
of `guest/kernel/`.
"""
