"""Which branches of the trusted files the tests run: host, supervisors, zygotes and sealed workers alike.

The host's processes are measured by coverage.py. What runs where no file can be opened marks its branches in memory
that it shares with a file (tracer.py), mapped before the first wall stands. Nothing in rlm_secure knows of this: the
plugin puts the tracer into the bundle that the tests start.
"""
