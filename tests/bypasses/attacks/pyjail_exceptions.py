"""An exception carries frames, contexts, and whatever the failing code put into it; some of them end the process."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "with_traceback": """
class T:
    pass
try:
    raise ValueError
except ValueError as error:
    LOOT = error.with_traceback(None).__class__.__mro__[-1].__subclasses__()
""",
    "import_error_path": """
try:
    import json.nothing
except ImportError as error:
    LOOT = error.__traceback__.tb_frame.f_globals
""",
    "cause": """
try:
    raise ValueError from KeyError(helper)
except ValueError as error:
    LOOT = error.__cause__.args[0].__globals__
""",
    "stop_iteration_value": """
def g():
    return helper
    yield
try:
    next(g())
except StopIteration as error:
    LOOT = error.value.__globals__
""",
    "unicode_error_object": r"""
try:
    "\ud800".encode()
except UnicodeError as error:
    LOOT = error.__traceback__.tb_frame.f_back or error.__traceback__.tb_frame
""",
    "excepthook": """
import sys
LOOT = sys.excepthook, sys
""",
    "exception_in_a_library_frame": """
import json
try:
    json.loads("{", object_hook=1 / 1)
except ValueError as error:
    LOOT = error.__traceback__.tb_next.tb_frame.f_globals
""",
    "library_callback_frame": """
import re, sys
def callback(match):
    global LOOT
    LOOT = sys._getframe(1).f_globals
re.sub("a", callback, "a")
""",
    "generator_in_a_library": """
import statistics
def data():
    global LOOT
    yield 1
    LOOT = it.gi_frame.f_back.f_globals
    yield 2
it = data()
statistics.mean(it)
""",
}
