"""Public names lead from harmless modules to sys, os and open: json.codecs.open, re.enum.sys, statistics.sys. An
allowlist of module names does not help (Plone hotfix 20210518 and CVE-2021-32633, Zope: the same in page templates).
"""

ADVISORY = "CVE-2021-32633"
GUARANTEE = "no-reflection"
ATTACKS = {
    "json_codecs_open": """
import json
LOOT = [json.codecs.open, json.codecs]
""",
    "json_codecs_builtins": """
import json
LOOT = json.codecs.builtins.eval
""",
    "re_enum_sys": """
import re
LOOT = re.enum.sys.modules["os"]
""",
    "statistics_sys": """
import statistics
LOOT = statistics.sys.modules
""",
    "random_os": """
import random
LOOT = random._os.system
""",
    "string_re": """
import string
LOOT = string._re
""",
    "typing_sys": """
import typing
LOOT = typing.sys
""",
    "dataclasses_sys": """
import dataclasses
LOOT = dataclasses.sys.modules["builtins"].open
""",
    "contextlib_os": """
import contextlib
LOOT = contextlib.os.system
""",
    "collections_sys": """
import collections
LOOT = collections._sys.modules
""",
    "textwrap_re": """
import textwrap
LOOT = textwrap.re
""",
    "fractions_operator": """
import fractions
LOOT = fractions.operator
""",
    "csv_io_open": """
import csv
LOOT = csv.io if hasattr(csv, "io") else csv.re
""",
    "calendar_datetime": """
import calendar
LOOT = calendar.datetime
""",
    "enum_builtins": """
import enum
LOOT = enum.bltns.open
""",
    "base64_binascii": """
import base64
LOOT = base64.binascii
""",
    "uuid_os": """
import uuid
LOOT = uuid.os.environ
""",
    "difflib_types": """
import difflib
LOOT = difflib._namedtuple.__globals__
""",
    "by_getattr": """
import json
LOOT = getattr(json, "codecs")
""",
    "by_import_from": """
from json import codecs
LOOT = codecs
""",
    "by_import_from_private": """
from random import _os
LOOT = _os
""",
    "by_vars": """
import json
LOOT = vars(json)["codecs"]
""",
    "by_attrgetter": """
import json, operator
LOOT = operator.attrgetter("codecs.builtins.open")(json)
""",
    "by_pattern": """
import json
match json:
    case object(codecs=found):
        LOOT = found
""",
    "by_format": """
import json
LOOT = "{0.codecs}".format(json) + CANARY
""",
    "urllib_request": """
import urllib.parse
LOOT = urllib.parse.sys if hasattr(urllib.parse, "sys") else urllib.parse.re
""",
}
