"""Servers that stand in for providers, on this machine."""
