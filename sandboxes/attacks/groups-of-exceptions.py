"""Raise a group whose split() lies: except* calls it, and trusts what it returns.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2025-22153
"""

def split(kind):
    print("WON asked for", kind)
    return group, None

group = ExceptionGroup("group", [ValueError("inside")])
group.split = split
try:
    raise group
except* ValueError:
    pass
