"""The kernel's walls: the steps that seal a process, their order, and what each achieved. This is the boundary."""
