"""Spell a refused builtin with letters of mathematics.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: identifiers are compared in NFKC, PEP 3131
"""

reached = 𝐨𝐩𝐞𝐧
print("WON reached", reached)
print(reached(TARGET["file"]).read())
