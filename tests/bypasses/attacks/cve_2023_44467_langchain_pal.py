"""CVE-2023-36258, CVE-2023-44467 and CVE-2024-27444, LangChain's PALChain: an AST filter for `import`, exec and system,
passed by `__import__`, by `__builtins__["..."]`, by subclasses and by names that are built at run time.
"""

ADVISORY = "CVE-2023-44467"
GUARANTEE = "no-reflection"
ATTACKS = {
    "import_call": """
LOOT = __import__("os").system
""",
    "builtins_as_a_dict": """
b = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
LOOT = b["ev" + "al"]
""",
    "globals_of_a_solution": """
def solution():
    return solution.__globals__["__builtins__"]
LOOT = solution()
""",
    "import_by_loader": """
LOOT = __loader__.load_module("os")
""",
    "import_by_spec": """
LOOT = __spec__.loader.load_module("posix")
""",
    "open_of_a_file": """
LOOT = open
""",
    "open_with_as": """
with open("/etc/hostname") as f:
    LOOT = [f.buffer.raw.__class__]
""",
}
CONTROLS = {
    "import_by_loader": """
import json
LOOT = json.__loader__.__init__.__globals__
""",
    "import_by_spec": """
import json
LOOT = json.__spec__.loader.__init__.__globals__
""",
}
