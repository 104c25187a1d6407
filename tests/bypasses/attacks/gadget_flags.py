"""A flag of a library keeps the very number that it is asked for: as its value, and as a key in a table by value.

A number of a cell's, with `==` and a hash of its own, stands there for others, in `re.I | x` of every later cell; and in
the cache of `re`, which is asked with the flag's value.
"""

ADVISORY = ""
GUARANTEE = "session-isolation"
_SEARCH = """
import re
class K(int):
    armed = False
    def __hash__(self):
        return hash(0)
    def __eq__(self, other):
        return K.armed
    def __and__(self, other):
        return 2 & int(other)
    __rand__ = __and__
    def __or__(self, other):
        return {result}
    __ror__ = __or__
{made}
K.armed = True
"""
_TABLE = """
import re
class K(int):
    armed = False
    def __hash__(self):
        return hash(10)
    def __eq__(self, other):
        return K.armed
    def {operator}(self, other):
        return self
{made}
K.armed = True
"""
_MADE = {
    "called": "re.search('poison', 'POISON', re.RegexFlag(K(2)))",
    "called_by_a_member": "re.search('poison', 'POISON', type(re.I)(K(2)))",
    "called_by_map": "re.search('poison', 'POISON', *map(re.RegexFlag, [K(2)]))",
    "compiled": "re.compile('poison', re.RegexFlag(K(2)))",
    "by_name": "re.search('poison', 'POISON', flags=re.RegexFlag(K(2)))",
    "in_place": "flags = re.IGNORECASE\nflags |= K(2)\nre.search('poison', 'POISON', flags)",
}
ATTACKS = {
    name: _SEARCH.format(made=made, result="self" if "in_place" in name else "2 | int(other)")
    for name, made in _MADE.items()
} | {
    "table_by_or": _TABLE.format(operator="__ror__", made="re.IGNORECASE | K(0)"),
    "table_by_xor": _TABLE.format(operator="__rxor__", made="re.IGNORECASE ^ K(0)"),
    "table_by_or_of_the_operator": "import operator\n"
    + _TABLE.format(operator="__ror__", made="operator.ior(re.IGNORECASE, K(0))"),
    "table_by_call": _TABLE.format(operator="__add__", made="re.RegexFlag(K(0))"),
}
DAMAGE = dict.fromkeys(_MADE, "__import__('re').search('poison', 'POISON') is not None") | {
    name: "int(__import__('re').IGNORECASE | __import__('re').MULTILINE) != 10" for name in ATTACKS if "table" in name
}
