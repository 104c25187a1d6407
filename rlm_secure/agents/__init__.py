"""Agents over the same sandboxes, policies, budgets and logs as the loop."""
