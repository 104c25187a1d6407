"""Make a class with the three-argument type, dunder names and all.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

Made = type("Made", (), {"__getattr__": lambda self, name: name, "__class__": int})
print("WON made", Made().__getattr__)
