"""Upstream's `rlm.utils`."""
