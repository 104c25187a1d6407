"""CVE-2026-0863, n8n's Python task executor: string formatting inside exception handling yields live objects. Also
CVE-2025-68668 (N8scape): a blocklist of module names in front of an unrestricted interpreter.
"""

ADVISORY = "CVE-2026-0863"
GUARANTEE = "no-reflection"
ATTACKS = {
    "error_of_a_format": """
try:
    "{.__class__.__base__.missing}".format(helper)
except Exception as error:
    LOOT = error.obj.__subclasses__()
""",
    "error_of_a_custom_getattr": """
class Probe:
    def __getattr__(self, name):
        raise AttributeError(name, name=name, obj=helper.__globals__)
try:
    Probe().x
except AttributeError as error:
    LOOT = error.obj
""",
    "error_name": """
try:
    f"{undefined_name}"
except NameError as error:
    LOOT = error.__traceback__.tb_frame.f_builtins
""",
    "error_in_nested_format": """
try:
    f"{'{0.__globals__.x}'.format(helper)}"
except AttributeError as error:
    LOOT = vars(error) or error.obj
""",
    "add_note_and_group": """
try:
    raise ExceptionGroup("x", [ValueError(helper)])
except ExceptionGroup as group:
    LOOT = group.exceptions[0].args[0].__globals__
""",
    "pyodide_module": """
import _pyrepl as p
LOOT = p
""",
    "ctypes": """
import ctypes
LOOT = ctypes
""",
    "import_through_sys_modules": """
import sys
LOOT = sys.modules["os"].system
""",
}
CONTROLS = {
    "pyodide_module": """
import _posixsubprocess as p
LOOT = p
""",
}
