"""Read the builtins as the final variable.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    text = FINAL_VAR("__builtins__")
except NameError:
    text = str(__builtins__)
if "Error" in text[:6]:
    raise NameError(text)
print("WON reached", text[:100])
