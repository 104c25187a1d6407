"""Bound methods and builtins know their owner; functions know their globals, code and closure."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "self_of_a_list_method": """
LOOT = [].append.__self__.__class__.__base__.__subclasses__()
""",
    "self_of_dict_fromkeys": """
LOOT = dict.fromkeys.__self__.__base__.__subclasses__()
""",
    "func_of_a_method": """
LOOT = record.method.__func__.__globals__
""",
    "self_of_a_method": """
LOOT = record.method.__self__._secret
""",
    "wrapped": """
import functools
@functools.lru_cache
def f():
    pass
LOOT = f.__wrapped__.__globals__
""",
    "wrapped_of_a_contextmanager": """
import contextlib
@contextlib.contextmanager
def f():
    yield
LOOT = f.__globals__["sys"] if "sys" in f.__globals__ else f.__globals__["os"]
""",
    "closure_of_a_decorator": """
import functools
LOOT = functools.wraps(helper).keywords["wrapped"].__globals__
""",
    "property_fget": """
import calendar
LOOT = calendar.Calendar.firstweekday.fget.__globals__
""",
    "cached_property_func": """
import functools
LOOT = functools.cached_property(helper).func.__globals__
""",
    "partial_func": """
import functools
LOOT = functools.partial(helper).func.__globals__
""",
    "classmethod_func": """
import datetime, statistics
LOOT = statistics.NormalDist.from_samples.__func__.__globals__
""",
    "method_of_a_facade_class": """
import json
LOOT = json.JSONEncoder().default.__func__.__globals__
""",
    "function_of_a_facade": """
import json
LOOT = json.dumps.__globals__
""",
    "builtins_of_a_function": """
import textwrap
LOOT = textwrap.dedent.__builtins__["open"]
""",
    "kwdefaults": """
import json
json.dumps.__kwdefaults__["indent"] = CANARY
LOOT = json.dumps.__kwdefaults__
""",
}
