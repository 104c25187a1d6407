"""The guest: the program that runs inside the sandbox. Every environment runs the same bytes, as one bundle.

It imports the standard library, RestrictedPython and its own modules, nothing else. Once the first cell has run, the
host believes nothing that the guest says about itself.
"""
