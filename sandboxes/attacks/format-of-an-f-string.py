"""Read attributes inside an f-string.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print(f"WON reached {().__class__.__subclasses__}")
