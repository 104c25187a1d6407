"""`id()` tells where an object lies, which is half of what a forged object needs."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "distance": """
# Small numbers lie side by side in CPython, 32 bytes apart.
LOOT = CANARY if {id(n + 1) - id(n) for n in range(100)} == {32} else None
""",
    "alignment": """
held = [object() for _ in range(100)]
LOOT = CANARY if all(id(each) % 16 == 0 for each in held) else None
""",
}
