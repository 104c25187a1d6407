"""Read attributes with string.Formatter.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2026-76825
"""

import string

print("WON reached", string.Formatter().format("{0.__class__.__subclasses__}", ()))
