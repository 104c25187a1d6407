"""Batches on several machines."""
