"""Zope and Plone hotfixes (CVE-2021-32633, CVE-2021-32674, CVE-2021-32807, CVE-2021-33509): expressions traverse from an
allowed object to modules through public names, `string` and `random` being the well-known ones.
"""

ADVISORY = "CVE-2021-32807"
GUARANTEE = "no-reflection"
ATTACKS = {
    "random_os": """
import random
LOOT = random._os
""",
    "string_formatter_import": """
from string import Formatter
LOOT = Formatter().get_field("0._secret", (record,), {})[0]
""",
    "re_sre_sys": """
import re
LOOT = re._compiler
""",
    "itertools_self": """
import itertools
LOOT = itertools.chain.from_iterable.__self__, itertools.__loader__, itertools.count.__init__.__objclass__.__subclasses__()
""",
    "module_loader": """
import json
LOOT = json.__loader__.__init__.__globals__
""",
    "traverse_by_reduce": """
from functools import reduce
import random
LOOT = reduce(getattr, "_os.system".split("."), random)
""",
    "acquire_by_default": """
LOOT = getattr(record, "missing", None) or getattr(record, "_secret", None)
""",
    "docstring_publish": """
def index(self):
    "published"
    return self._secret
LOOT = index(record)
""",
}
