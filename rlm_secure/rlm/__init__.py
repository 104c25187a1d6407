"""The loop: a model works on a context that it never sees whole, through cells that run in a sandbox."""
