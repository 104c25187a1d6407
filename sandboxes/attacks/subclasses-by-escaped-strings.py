"""Spell the hidden names with escapes in string literals.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

kinds = getattr(getattr(getattr((), "\x5f\x5fclass\x5f\x5f"), "\u005f_base_\137"), "__subclasses\N{LOW LINE}_")()
print("WON reached", len(kinds))
