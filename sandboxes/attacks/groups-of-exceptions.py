"""Catch with except*, which older guards did not know.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2025-22153
"""

try:
    raise ExceptionGroup("group", [ValueError("inside")])
except* ValueError as group:
    print("WON caught", group.exceptions[0], group.__class__)
