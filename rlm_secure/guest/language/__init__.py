"""The language layer: which Python a cell may write. Not a boundary: it narrows what reaches the kernel's walls.

It refuses early, and says why in a sentence that a model understands. Whoever gets around it still is where
`guest/kernel/` put them.
"""
