"""Use the site module's printers, which open files and hold the sys module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CPython site.py
"""

reached = license._Printer__setup.__globals__["sys"].modules["io"].open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
