"""Change the encoding of the source in a comment.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

# -*- coding: unicode_escape -*-
# \u000aprint("WON", open)
print("WON reached", ().__class__.__subclasses__)
