"""CVE-2025-5120, smolagents before 1.17: names and modules are checked where they are written, while getattr and the
modules behind allowed modules lead to the rest.
"""

ADVISORY = "CVE-2025-5120"
GUARANTEE = "no-reflection"
ATTACKS = {
    "module_behind_a_module": """
import random
LOOT = getattr(random, "_os").system
""",
    "queue_threading_sys": """
import queue
LOOT = queue.threading
""",
    "statistics_by_getattr": """
import statistics
LOOT = getattr(statistics, "sys").modules["os"]
""",
    "getattr_of_a_builtin_function": """
LOOT = getattr(print, "__self__").open
""",
    "builtins_of_a_function_dict": """
def f():
    pass
LOOT = f.__globals__["__builtins__"]
""",
}
