"""The zygote: one clean process that forks sealed sessions and never runs untrusted code."""
