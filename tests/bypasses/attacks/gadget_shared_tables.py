"""Mutable objects inside of allowed modules: changing one changes what everybody computes after it."""

ADVISORY = ""
GUARANTEE = "session-isolation"
ATTACKS = {
    "json_escape_table": """
import json
json.encoder.ESCAPE_DCT["A"] = "poison"
""",
    "json_constants": """
import json
json.decoder._CONSTANTS["NaN"] = "poison"
""",
    "json_default_encoder": """
import json
json._default_encoder.default = lambda o: "poison"
""",
    "json_class_attribute": """
import json
json.JSONEncoder.item_separator = "poison"
""",
    "json_class_by_setattr": """
import json
setattr(json.JSONEncoder, "default", lambda self, o: "poison")
""",
    "json_class_by_total_ordering": """
import functools, json
json.JSONEncoder.__lt__ = lambda a, b: True
functools.total_ordering(json.JSONEncoder)
""",
    "module_attribute": """
import math
math.pi = 3
""",
    "module_by_setattr": """
import math
setattr(math, "pi", 3)
""",
    "module_by_delattr": """
import math
del math.pi
""",
    "module_by_global": """
import string
string.digits = "poison"
""",
    "random_state": """
import random
random.seed(1)
""",
    "hashlib_set": """
import hashlib
hashlib.algorithms_guaranteed.clear()
""",
    "textwrap_table": """
import textwrap
textwrap.TextWrapper.unicode_whitespace_trans[65] = 66
""",
    "decimal_default_context": """
import decimal
decimal.DefaultContext.prec = 1
""",
    "csv_dialect": """
import csv
csv.excel.delimiter = "poison"
""",
    "calendar_names": """
import calendar
calendar.day_name._days[0] = lambda spec: "poison"
""",
    "html_entities": """
import html
html.entities.html5["lt;"] = "poison"
""",
    "exception_class": """
import json
json.JSONDecodeError.__str__ = lambda self: "poison"
""",
    "builtin_function": """
__builtins__["len"] = lambda x: "poison"
""",
    "defaults_of_a_named_tuple": """
import decimal
decimal.DecimalTuple._field_defaults["LOOT"] = 1
""",
    "defaults_of_a_result": """
import urllib.parse
urllib.parse.urlparse("http://a/b")._field_defaults["LOOT"] = 1
""",
}
CONTROLS = {
    "builtin_function": """
vars(__builtins__)["len"] = lambda x: "poison"
""",
}
DAMAGE = {
    "json_escape_table": "__import__('json').encoder.ESCAPE_DCT.get('A') == 'poison'",
    "json_constants": "__import__('json').decoder._CONSTANTS['NaN'] == 'poison'",
    "json_default_encoder": "'default' in vars(__import__('json')._default_encoder)  and __import__('json')._default_encoder.default(1) == 'poison'",
    "json_class_attribute": "__import__('json').JSONEncoder.item_separator == 'poison'",
    "json_class_by_setattr": "__import__('json').JSONEncoder().default.__name__ == '<lambda>'",
    "json_class_by_total_ordering": "'__ge__' in vars(__import__('json').JSONEncoder)",
    "module_attribute": "__import__('math').pi == 3",
    "module_by_setattr": "__import__('math').pi == 3",
    "module_by_delattr": "not hasattr(__import__('math'), 'pi')",
    "module_by_global": "__import__('string').digits == 'poison'",
    "random_state": "__import__('random').random() == __import__('random').Random(1).random()",
    "hashlib_set": "not __import__('hashlib').algorithms_guaranteed",
    "textwrap_table": "__import__('textwrap').fill('A') == 'B'",
    "decimal_default_context": "__import__('decimal').DefaultContext.prec == 1",
    "csv_dialect": "__import__('csv').excel.delimiter == 'poison'",
    "calendar_names": "__import__('calendar').day_name[0] == 'poison'",
    "html_entities": "__import__('html').entities.html5['lt;'] == 'poison'",
    "exception_class": "str(__import__('json').JSONDecodeError('a', 'b', 0)) == 'poison'",
    "builtin_function": "__import__('builtins').len([]) == 'poison'",
    "defaults_of_a_named_tuple": "__import__('decimal').DecimalTuple._field_defaults",
    "defaults_of_a_result": "__import__('urllib.parse').parse.ParseResult._field_defaults",
}
