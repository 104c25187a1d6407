"""Import a module that an allowed one happens to hold.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

from json import codecs

print("WON reached", codecs.open(TARGET["file"]).read())
