"""Read a guard as the final variable.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    text = FINAL_VAR("_getattr_")
except NameError:
    text = "<function " + getattr.__name__
if "Error" in text[:6]:
    raise NameError(text)
print("WON reached", text[:100])
