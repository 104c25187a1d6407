"""Read attributes inside an f-string.

guarantee: no-reflection
layer: language
wins: reflects
"""

print(f"WON reached {().__class__.__base__}")
