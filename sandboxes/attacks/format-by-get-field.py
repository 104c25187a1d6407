"""Read attributes with get_field of string.Formatter.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2026-76825
"""

import string

print("WON reached", string.Formatter().get_field("0.__class__.__base__", ((),), {}))
