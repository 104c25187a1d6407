"""The guest: the program that runs inside the walls. The same bytes, as one bundle, in every environment.

It imports the standard library, RestrictedPython and its own siblings, nothing else. Everything it says about
itself is disbelieved by the host from its first cell on.
"""
