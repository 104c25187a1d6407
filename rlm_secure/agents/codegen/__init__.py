"""Questions over tables, answered by code that a model writes and a sandbox checks and runs."""
