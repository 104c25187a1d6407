"""`from x import y` compiles to IMPORT_FROM, which calls no guard, and a prefix rule for packages admits json.tool."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "plain": """
import os
LOOT = os
""",
    "as_name": """
import subprocess as s
LOOT = s
""",
    "dotted": """
import os.path
LOOT = os
""",
    "dotted_as": """
import os.path as p
LOOT = p
""",
    "from_a_package": """
from os import system
LOOT = system
""",
    "a_submodule_of_an_allowed_package": """
import json.tool
LOOT = json.tool.argparse
""",
    "from_a_submodule": """
from json.tool import sys
LOOT = sys
""",
    "a_submodule_as_a_name": """
from json import tool
LOOT = tool
""",
    "star": """
from os import *
LOOT = system
""",
    "in_a_function": """
def f():
    import sys
    return sys
LOOT = f()
""",
    "in_a_class_body": """
class C:
    import sys
LOOT = C.sys
""",
    "in_try_with_fallback": """
try:
    import no_such_module
except ImportError:
    import posix
LOOT = posix
""",
    "dunder_import": """
LOOT = __import__("os")
""",
    "dunder_import_by_builtins": """
LOOT = __builtins__.__import__("os")
""",
    "importlib": """
import importlib
LOOT = importlib.import_module("os")
""",
    "collections_abc_sys": """
from collections import abc, _sys
LOOT = _sys
""",
    "future_module": """
import __future__ as f
LOOT = f
""",
    "main_module": """
import __main__
LOOT = __main__
""",
    "look_alike_name": """
import o\u017f as m
LOOT = m
""",
}
