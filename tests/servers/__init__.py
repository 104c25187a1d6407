"""Servers on this machine: one that stands in for a provider, and one that runs commands."""
