"""A cache is asked with `==` and hashes: an entry whose key answers as it likes stands in for honest ones, for every
later caller, library code among them.
"""

import sys

ADVISORY = ""
GUARANTEE = "session-isolation"

_TEXT = """
class Text(str):
    def __hash__(self):
        return hash(POSE)
    def __eq__(self, other):
        return True
"""
_KEY = """
class K:
    def __call__(self):
        pass
    def __hash__(self):
        return hash(POSE)
    def __eq__(self, other):
        return True
"""
_NUMBER = """
from fractions import Fraction
class N(int):
    def __hash__(self):
        return int.__hash__(self)
    def __eq__(self, other):
        return True
class F(Fraction):
    _numerator = property(lambda self: N(7), lambda self, value: None)
    _denominator = property(lambda self: N(3), lambda self, value: None)
    numerator, denominator = _numerator, _denominator
class G(F):
    _numerator = property(lambda self: M(7), lambda self, value: None)
class M(N):
    def __abs__(self):
        return 0
hash(G(7, 3))
"""
ATTACKS = {
    "typing_optional": f"""
from typing import Optional
POSE = bytes
{_KEY}
Optional[K()]
""",
    "typing_list": f"""
from typing import List
POSE = bytes
{_KEY}
List[K()]
""",
    "typing_union": f"""
from typing import Union
POSE = bytes
{_KEY}
Union[int, K()]
""",
    "re_flags": """
import re
class Flags(int):
    def __hash__(self):
        return hash(0)
    def __eq__(self, other):
        return True
re.search("poison", "", Flags(2))
""",
    "re_flags_by_a_keyword_of_another_kind": """
import re
class Flags(int):
    def __hash__(self):
        return hash(0)
    def __eq__(self, other):
        return True
class Key(str):
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return str.__str__(other) == "flags"
re.search("poison", "", **{Key("x"): Flags(2)})
""",
    "re_flags_by_keywords_of_a_partial": """
import functools, re
class Flags(int):
    def __hash__(self):
        return hash(0)
    def __eq__(self, other):
        return True
class Key(str):
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return str.__str__(other) == "flags"
search = functools.partial(re.search, "poison", "")
search.keywords[Key("x")] = Flags(2)
search()
""",
    "re_template": f"""
import re
POSE = r"\\g<0>b"
{_TEXT}
re.sub("a", Text(r"\\g<0>poison"), "a")
""",
    "re_template_of_a_pattern": f"""
import re
POSE = r"\\g<0>c"
{_TEXT}
re.compile("a").sub(Text(r"\\g<0>poison"), "a")
""",
    "strptime_of_datetime": f"""
import datetime
POSE = "%d"
{_TEXT}
datetime.datetime.strptime("31", Text("%y"))
""",
    "strptime_of_time": f"""
import time
POSE = "%H"
{_TEXT}
time.strptime("11", Text("%y"))
""",
    "urllib_quote": """
import urllib.parse
class Safe(bytes):
    def __hash__(self):
        return hash(b"/")
    def __eq__(self, other):
        return True
class Text(str):
    def encode(self, *how):
        return Safe(b" ")
urllib.parse.quote("a b%", safe=Text("/"))
""",
    "csv_dialect": """
import csv
csv.register_dialect("excel", delimiter="|")
""",
    "csv_dialect_gone": """
import csv
csv.unregister_dialect("excel")
""",
}
DAMAGE = {
    "typing_optional": "__import__('typing').Optional[bytes].__args__[0] is not bytes",
    "typing_list": "__import__('typing').List[bytes].__args__[0] is not bytes",
    "typing_union": "__import__('typing').Union[int, bytes].__args__[1] is not bytes",
    "re_flags": "__import__('re').search('poison', 'POISON') is not None",
    "re_flags_by_a_keyword_of_another_kind": "__import__('re').search('poison', 'POISON') is not None",
    "re_flags_by_keywords_of_a_partial": "__import__('re').search('poison', 'POISON') is not None",
    "re_template": r"__import__('re').sub('a', r'\g<0>b', 'a') != 'ab'",
    "re_template_of_a_pattern": r"__import__('re').sub('a', r'\g<0>c', 'a') != 'ac'",
    "strptime_of_datetime": "__import__('time').strptime('31', '%d').tm_year == 2031",
    "strptime_of_time": "__import__('time').strptime('11', '%H').tm_year == 2011",
    "urllib_quote": "__import__('urllib.parse').parse.quote('a b') != 'a%20b'",
    "csv_dialect": "__import__('csv').get_dialect('excel').delimiter == '|'",
    "csv_dialect_gone": "'excel' not in __import__('csv').list_dialects()",
}
if sys.version_info >= (3, 12):  # there the parts of a Fraction are keys of a cache
    ATTACKS["hash_of_a_fraction"] = _NUMBER
    DAMAGE["hash_of_a_fraction"] = "hash(__import__('fractions').Fraction(7, 3)) == 0"
