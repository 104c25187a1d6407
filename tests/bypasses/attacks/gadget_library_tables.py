"""Library code calls methods of the text that it is given, and gives them its tables. And a read-only view of a dict
asks the other side of `==` and `|`, with the dict itself.
"""

ADVISORY = ""
GUARANTEE = "session-isolation"

_TEXT = """
class Text(str):
    def translate(self, table):
        global LOOT
        LOOT = table
        return "x"
    def expandtabs(self, *size):
        return self
    def replace(self, *values):
        return self
"""
_EVIL = """
class Evil:
    def __eq__(self, other):
        global GOT
        GOT = other
        return True
    __ror__ = __gt__ = __eq__
"""
ATTACKS = {
    "re_escape": f"""
import re
{_TEXT}
re.escape(Text("a"))
""",
    "textwrap_wrap": f"""
import textwrap
{_TEXT}
textwrap.wrap(Text("a b"))
""",
    "textwrap_fill_of_the_class": f"""
import textwrap
{_TEXT}
textwrap.TextWrapper().fill(Text("a b"))
""",
    "textwrap_by_super": """
import textwrap
LOOT = super(textwrap.TextWrapper, textwrap.TextWrapper).unicode_whitespace_trans
""",
    "textwrap_table_by_equality": f"""
import textwrap
{_EVIL}
textwrap.TextWrapper.unicode_whitespace_trans == Evil()
GOT[65] = 66
""",
    "groups_by_equality": f"""
import string
{_EVIL}
string.Template.pattern.groupindex == Evil()
GOT.clear()
""",
    "groups_by_union": f"""
import re
{_EVIL}
re.compile("(?P<mark>a)").groupindex | Evil()
GOT.clear()
""",
    "groups_by_order": f"""
import re
{_EVIL}
re.compile("(?P<mark>b)").groupindex < Evil()
GOT.clear()
""",
    "groups_by_getattr": f"""
import re
{_EVIL}
getattr(re.compile("(?P<mark>c)"), "groupindex") == Evil()
GOT.clear()
""",
    "groups_by_keys": f"""
import re
{_EVIL}
re.compile("(?P<mark>d)").groupindex.keys().mapping == Evil()
GOT.clear()
""",
}
CONTROLS = {
    "textwrap_by_super": """
import textwrap
LOOT = textwrap.TextWrapper.unicode_whitespace_trans
""",
    "textwrap_table_by_equality": """
import textwrap
textwrap.TextWrapper.unicode_whitespace_trans[65] = 66
""",
}
DAMAGE = {
    "textwrap_table_by_equality": "'B' in __import__('textwrap').fill('A')",
    "groups_by_equality": "'named' not in __import__('string').Template.pattern.groupindex",
    "groups_by_union": "not __import__('re').compile('(?P<mark>a)').groupindex",
    "groups_by_order": "not __import__('re').compile('(?P<mark>b)').groupindex",
    "groups_by_getattr": "not __import__('re').compile('(?P<mark>c)').groupindex",
    "groups_by_keys": "not __import__('re').compile('(?P<mark>d)').groupindex",
}
