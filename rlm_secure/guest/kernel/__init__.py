"""The kernel's walls: each step that seals a process, their order, and what was achieved. This is the boundary."""
