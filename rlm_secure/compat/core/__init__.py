"""Upstream's `rlm.core`."""
