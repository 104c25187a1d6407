"""Benchmarks: `python -m benchmarks` measures, and prints ratios to the first case of each table."""
